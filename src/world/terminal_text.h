// What a terminal shows of foreign text. Otherwise any user who may annotate a node could clear the
// screen, set the window's title, or reverse the direction of what follows.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

// The text with the style of an SGR code ("1;31"), as styled_text() and only that passes on: the
// marks are bytes that no UTF-8 has.
std::string mark_style(std::string_view text, std::string_view code);

// For the last step of an output: control characters (except line breaks and tabs), bidirectional
// overrides, invisible characters and invalid UTF-8 are written as escapes of JSON ("\u001b"),
// marked styles as escape sequences.
std::string terminal_text(std::string_view text);

// The same for one value in a line: a line break in it would begin a line that resembles ours.
std::string one_line(std::string_view text);

}  // namespace lockstep
