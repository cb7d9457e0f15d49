#include "bundle/shell_text.h"

#include <algorithm>

namespace lockstep::bundle {

namespace {

// No '~', '=' or '{': harmless in the middle of a word, and not at its beginning.
bool is_harmless(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == '/' || c == ':' || c == '+' || c == ',';
}

}  // namespace

std::string shell_word(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_harmless)) return std::string(text);
  std::string word = "'";
  for (const char c : text) {
    if (c == '\0') continue;
    // Inside single quotes nothing has a meaning but the quote: leave them, write it, enter again.
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

}  // namespace lockstep::bundle
