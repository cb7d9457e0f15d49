#include "cli/terminal.h"

#include <algorithm>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "world/terminal_text.h"

namespace lockstep::cli {

using fleet::State;

Terminal Terminal::of_output() {
  Terminal terminal;
  const char* term = std::getenv("TERM");
  bool dumb = term == nullptr || std::string_view(term) == "dumb";
  terminal.interactive = isatty(STDOUT_FILENO) != 0 && !dumb;
  terminal.colour = terminal.interactive && std::getenv("NO_COLOR") == nullptr;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.width = size.ws_col;
    terminal.height = size.ws_row;
  }
  return terminal;
}

std::string Terminal::paint(std::string_view text, std::string_view colour_code) const {
  if (!colour || colour_code.empty()) return std::string(text);
  return mark_style(text, colour_code);
}

std::string_view colour_of(State state) {
  switch (state) {
    case State::done:
      return "32";
    case State::failed:
      return "1;31";
    case State::required:
      return "33";
    case State::unknown:
      return "90";
    case State::cordon:
    case State::wait_for_jobs:
    case State::uncordon:
      return "36";
    case State::pod_deletion:
    case State::drain:
      return "35";
    case State::pod_restart:
      return "1;34";
    case State::validation:
      return "34";
  }
  return "";
}

char letter_of(State state) {
  switch (state) {
    case State::done:
      return '+';
    case State::failed:
      return 'X';
    case State::required:
      return '.';
    case State::unknown:
      return '?';
    case State::cordon:
      return 'c';
    case State::wait_for_jobs:
      return 'j';
    case State::pod_deletion:
      return 'e';
    case State::drain:
      return 'd';
    case State::pod_restart:
      return 'R';
    case State::validation:
      return 'v';
    case State::uncordon:
      return 'u';
  }
  return '?';
}

std::string progress_bar(int64_t done, int64_t total, int width) {
  int64_t filled = total == 0 ? 0 : done * width / total;
  return fmt::format("[{}{}]", std::string(static_cast<size_t>(filled), '#'),
                     std::string(static_cast<size_t>(width - filled), '.'));
}

std::string shorten(std::string_view text, size_t width) {
  if (text.size() <= width) return std::string(text);
  if (width < 4) return std::string(text.substr(0, width));
  return std::string(text.substr(0, width - 3)) + "...";
}

}  // namespace lockstep::cli
