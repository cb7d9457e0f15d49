#include "cli/output.h"

#include <fmt/format.h>

#include "world/terminal_text.h"

namespace lockstep::cli {

void print_text(std::string_view text, std::FILE* to) { fmt::print(to, "{}", terminal_text(text)); }

}  // namespace lockstep::cli
