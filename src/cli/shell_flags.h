// The flags of `lockstep completion` and `lockstep man`, which are about all the others.
#pragma once

#include <string>

#include "cli/command_tree.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

struct ShellFlags {
  std::string shell;
  bool markdown = false;
};

// `result` becomes its exit code when it is the one that is asked for. Every other command must be
// added to `app` too.
void add_shell(CLI::App& app, ShellFlags& flags, int& result);

CommandText command_tree(const CLI::App& app);

}  // namespace lockstep::cli
