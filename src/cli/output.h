// Where text for users leaves the program: everything from a cluster, a repository or a server
// passes terminal_text() here.
#pragma once

#include <cstdio>
#include <string_view>

namespace lockstep::cli {

void print_text(std::string_view text, std::FILE* to = stdout);

}  // namespace lockstep::cli
