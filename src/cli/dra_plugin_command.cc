#include "cli/dra_plugin_command.h"

#include <cerrno>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "cli/child_process.h"
#include "cli/exit_codes.h"

namespace lockstep::cli {

int run_dra_plugin(int argc, char** argv) {
  std::string own = own_program();
  std::string program = own.substr(0, own.rfind('/') + 1) + "lockstep-dra-plugin";
  std::vector<char*> words = {program.data()};
  words.insert(words.end(), argv + 2, argv + argc);
  words.push_back(nullptr);
  // Where the own path is not known, PATH is searched.
  execvp(program.c_str(), words.data());
  return report({ErrorKind::not_found, std::generic_category().message(errno), program});
}

}  // namespace lockstep::cli
