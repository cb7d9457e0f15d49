// What the output goes to: a terminal with colours and a screen to redraw, or plain lines.
#pragma once

#include <string>
#include <string_view>

#include "fleet/state.h"

namespace lockstep::cli {

struct Terminal {
  bool interactive = false;  // redraw in place
  bool colour = false;
  int width = 100;
  int height = 40;

  // Of standard output; NO_COLOR and TERM=dumb are honoured.
  static Terminal of_output();

  // Marked with the colour, which print_text() turns into codes, or as it is.
  std::string paint(std::string_view text, std::string_view colour_code) const;
};

// The colour of a state, and a letter for users who do not see colours.
std::string_view colour_of(fleet::State state);
char letter_of(fleet::State state);

// "[#####.....]"
std::string progress_bar(int64_t done, int64_t total, int width);
// Cut to a width, with an ellipsis. Counts bytes: our texts are ASCII.
std::string shorten(std::string_view text, size_t width);

}  // namespace lockstep::cli
