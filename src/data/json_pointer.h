// RFC 6901: "/spec/taints/0/key", with "~1" for a slash and "~0" for a tilde in a name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json.h"

namespace lockstep {

// The names on the way from the root; none for "", the whole document.
using JsonPointer = std::vector<std::string>;

Result<JsonPointer> parse_json_pointer(std::string_view text);
// The first `count` names as a pointer, for messages; "the document" if `count` is 0.
std::string describe_pointer(const JsonPointer& path, size_t count);

// An index as the RFC writes it: digits, no sign, no leading zero.
std::optional<size_t> parse_array_index(std::string_view text);

// The value that the first `count` names lead to. The error says where the way ends.
Result<Json*> follow_pointer(Json& document, const JsonPointer& path, size_t count);

}  // namespace lockstep
