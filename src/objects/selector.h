// Label selectors, as kubectl -l writes them and as LabelSelector objects. Field selectors beside
// them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json.h"
#include "objects/field_selector.h"  // IWYU pragma: export
#include "objects/string_map.h"

namespace lockstep {

class LabelSelector {
 public:
  enum class Operator { equals, not_equals, in, not_in, exists, not_exists, greater, less };
  struct Requirement {
    std::string key;
    Operator op = Operator::exists;
    std::vector<std::string> values;  // sorted
    bool operator==(const Requirement&) const = default;
  };
  // The value of a label, or nothing.
  using Labels = std::function<std::optional<std::string_view>(std::string_view key)>;

  // "app=web,tier!=db,env in (a,b),gpu,!old". Empty matches everything.
  static Result<LabelSelector> parse(std::string_view text);
  // A LabelSelector object: matchLabels and matchExpressions. An empty object matches everything;
  // null (or nothing) matches nothing. An error's place is the path within the selector.
  static Result<LabelSelector> from_json(const Json* selector);
  static LabelSelector nothing();

  bool matches(const Labels& labels) const;
  bool matches(const StringMap& labels) const;
  // Against metadata.labels of an object in JSON.
  bool matches_object(const Json& object) const;
  bool empty() const { return !nothing_ && requirements_.empty(); }
  bool matches_nothing() const { return nothing_; }
  // In the form that parse() reads, requirements sorted by key.
  std::string text() const;
  const std::vector<Requirement>& requirements() const { return requirements_; }
  bool operator==(const LabelSelector&) const = default;

 private:
  bool nothing_ = false;
  std::vector<Requirement> requirements_;
};

}  // namespace lockstep
