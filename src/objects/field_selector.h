// Field selectors, as kubectl --field-selector writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json.h"

namespace lockstep {

// "metadata.name=a,spec.nodeName!=b,status.phase==Running". In a value, a backslash escapes a
// comma, an equals sign or another backslash.
class FieldSelector {
 public:
  struct Requirement {
    std::string path;
    bool equal = true;
    std::string value;
    bool operator==(const Requirement&) const = default;
  };
  static Result<FieldSelector> parse(std::string_view text);
  // A field that is missing has its zero value: "", "false", "0".
  bool matches_object(const Json& object) const;
  bool empty() const { return requirements_.empty(); }
  std::string text() const;
  const std::vector<Requirement>& requirements() const { return requirements_; }

 private:
  std::vector<Requirement> requirements_;
};

}  // namespace lockstep
