// Which strings seem to be keys and tokens: by the prefixes that their makers give them, or because
// they are long and hold no words.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::doctor {

// Letters, digits and what base64, its URL form and percent escapes add.
bool is_of_token(char c);

// Each such string replaced by "(removed)".
std::string without_opaque_tokens(std::string_view text);

}  // namespace lockstep::doctor
