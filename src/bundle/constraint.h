// What an overlay demands of a cluster: "K8s.server.version" must be ">= 1.32".
//
// Versions are compared at the lower precision of the two: 1.33 equals 1.33.5. A leading "v" and
// what follows "-" or "+" do not count, so v1.33.5-eks-3025e55 is 1.33.5.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lockstep::bundle {

// Type.Subtype.Key; the key keeps its dots.
struct ConstraintPath {
  std::string type;
  std::string subtype;
  std::string key;

  bool operator==(const ConstraintPath&) const = default;
};

Result<ConstraintPath> parse_constraint_path(std::string_view text);
std::string to_string(const ConstraintPath& path);

// Of one number or more: "580", "1.33", "v1.33.5-eks-3025e55". Nothing for an invalid version.
std::optional<std::vector<std::string>> version_numbers(std::string_view text);
// Both from version_numbers().
std::strong_ordering compare_versions(const std::vector<std::string>& a,
                                      const std::vector<std::string>& b);

enum class ConstraintOperator { exact, equal, not_equal, at_least, at_most, above, below };

struct ConstraintExpression {
  ConstraintOperator op = ConstraintOperator::exact;
  std::string value;
};

// Without an operator the text itself is demanded, to the letter. The four that order need a
// version.
Result<ConstraintExpression> parse_constraint_expression(std::string_view text);

// Whether what was found meets it. == and != compare versions if the demanded value has a dot and
// the found one is a version, and strings otherwise. A found string that is not a version never
// meets an operator that orders.
bool evaluate(const ConstraintExpression& expression, std::string_view found);

}  // namespace lockstep::bundle
