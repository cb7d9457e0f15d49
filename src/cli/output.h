// Where texts for people leave the program: all that a cluster, a repository or a server said goes
// through terminal_text() here.
#pragma once

#include <cstdio>
#include <string_view>

namespace lockstep::cli {

void print_text(std::string_view text, std::FILE* to = stdout);

}  // namespace lockstep::cli
