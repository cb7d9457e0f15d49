// One step on the way to a field, as metadata.managedFields writes it.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json.h"

namespace lockstep::apiserver {

struct PathElement {
  enum class Kind { field, key, value, index };

  Kind kind = Kind::field;
  // The field's name; for the others JSON in canonical form (compact, keys sorted), so that equal
  // elements have equal texts.
  std::string text;

  static PathElement field(std::string_view name);
  // The value that identifies an item of a set.
  static PathElement value(const Json& value);
  static PathElement index(size_t index);

  // "f:replicas". Nothing for a kind of step that we do not know; an error for one that is broken.
  static Result<std::optional<PathElement>> decode(std::string_view text);
  std::string encoded() const;
  // ".replicas", "[name=\"web\"]", as conflicts name them.
  std::string readable() const;

  bool operator==(const PathElement&) const = default;
  // Kubernetes' order: fields, keys, values, indexes; numbers by value.
  std::strong_ordering operator<=>(const PathElement& other) const;
};

using FieldPath = std::vector<PathElement>;
std::string readable(const FieldPath& path);

// Compact JSON with sorted keys, and <, >, & escaped as Go does.
std::string canonical_json(const Json& value);

}  // namespace lockstep::apiserver
