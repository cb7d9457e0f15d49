#include "bundle/names.h"

#include <algorithm>

#include "base/strings.h"

namespace lockstep::bundle {

Result<void> check_name(std::string_view name) {
  auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  bool good = !name.empty() && name.size() <= 63 && plain(name.front()) && plain(name.back()) &&
              std::all_of(name.begin(), name.end(), [&](char c) { return plain(c) || c == '-'; });
  if (good) return {};
  return failf(ErrorKind::invalid,
               "must be 1 to 63 lower-case letters, digits and \"-\", beginning and ending with a "
               "letter or digit, not {}",
               quoted_excerpt(name));
}

}  // namespace lockstep::bundle
