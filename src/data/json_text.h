// What the tree's parser and the pull reader must see alike, and the printer's pieces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/json.h"

namespace lockstep {

// "line:column" of a byte in the text, both from one, columns in bytes.
std::string line_and_column(std::string_view text, size_t offset);

// The double nearest to a number as JSON writes it. Nothing when it is too large for a double: JSON
// could not write the infinity that would come of it.
std::optional<double> number_from_json_text(std::string_view digits);

// A number without a fraction that fits, also when it is written as a double (Helm's 1e3).
std::optional<int64_t> integer_of(const Json& value);
std::optional<int64_t> integer_of(double value);

// Appends as JSON: integers plain, doubles in the fewest digits that read back the same and, like
// Go, without an exponent unless they are very large or very small. Infinities and NaN print as
// null.
void append_json_number(std::string& out, const Json& number);
void append_json_string(std::string& out, std::string_view text);

}  // namespace lockstep
