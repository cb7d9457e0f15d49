// Flags that many commands have.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace lockstep::cli {

void add_output_flag(CLI::App* command, std::string& output);

}  // namespace lockstep::cli
