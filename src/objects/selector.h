// Label and field selectors, as kubectl -l and --field-selector write them and as LabelSelector objects.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json.h"

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
  // A LabelSelector object: matchLabels and matchExpressions. An empty object matches everything; null
  // (or nothing) matches nothing.
  static Result<LabelSelector> from_json(const Json* selector);
  static LabelSelector nothing();

  bool matches(const Labels& labels) const;
  // Against metadata.labels of an object in JSON.
  bool matches_object(const Json& object) const;
  bool empty() const { return !nothing_ && requirements_.empty(); }
  // In the form that parse() reads, requirements sorted by key.
  std::string text() const;
  const std::vector<Requirement>& requirements() const { return requirements_; }

 private:
  bool nothing_ = false;
  std::vector<Requirement> requirements_;
};

// "metadata.name=a,spec.nodeName!=b,status.phase==Running".
class FieldSelector {
 public:
  struct Requirement {
    std::string path;
    bool equal = true;
    std::string value;
    bool operator==(const Requirement&) const = default;
  };
  static Result<FieldSelector> parse(std::string_view text);
  bool matches_object(const Json& object) const;
  bool empty() const { return requirements_.empty(); }
  std::string text() const;
  const std::vector<Requirement>& requirements() const { return requirements_; }

 private:
  std::vector<Requirement> requirements_;
};

}  // namespace lockstep
