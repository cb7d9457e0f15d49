#include "cli/common_flags.h"

#include <CLI/CLI.hpp>

namespace lockstep::cli {

void add_output_flag(CLI::App* command, std::string& output) {
  command->add_option("-o,--output", output, "table, json or yaml")
      ->check(CLI::IsMember({"table", "json", "yaml"}))
      ->capture_default_str();
}

}  // namespace lockstep::cli
