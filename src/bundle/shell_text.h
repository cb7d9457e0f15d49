// Text as a word of a shell script: whatever it holds, bash reads exactly this text and runs none
// of it.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::bundle {

// Plain where every character is harmless, otherwise in single quotes. Bash has no word with a zero
// byte in it; those are left out.
std::string shell_word(std::string_view text);

}  // namespace lockstep::bundle
