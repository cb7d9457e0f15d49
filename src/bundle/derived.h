// Values that follow another component's version, so that its upgrade restarts the right pods. They
// are written after everything that a user can set, from the resolved recipe alone: users need not
// remember them and cannot get them wrong.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/resolve.h"
#include "bundle/rule_files.h"
#include "bundle/values_map.h"

namespace lockstep::bundle {

// Writes, for every rule whose components are all in the recipe, the value byte for byte as text at
// each path; other keys are kept, missing maps made. A value to follow that is empty is a warning
// and writes nothing. `without` holds names of rules that are left out, or "all"; a name that no
// rule has is an error. Returns the warnings.
Result<std::vector<std::string>> apply_derived(const std::vector<DerivedRule>& rules,
                                               const ResolvedRecipe& enabled, ValuesMap& values,
                                               const std::set<std::string>& without);

// A value that is not what would be derived.
struct Deviation {
  std::string rule;
  std::string component;
  ValuePath path;
  std::string expected;
  std::optional<Json> found;  // none: it is missing

  // "values of nvidia-dra-driver-gpu: controller.a is "v1", and must be "v2", as …"
  std::string text() const;
};

// In the order of the rules and their paths. What no rule would write now is never one.
std::vector<Deviation> deviations(const std::vector<DerivedRule>& rules,
                                  const ResolvedRecipe& enabled, const ValuesMap& values);

// A value in a file that a rule would derive.
struct HandWritten {
  std::string rule;
  ValuePath path;
  Json found;
};

// For values that a user has written, as in a file of the catalogue: all values that rules derive,
// right or wrong, because they will be wrong after the next upgrade.
std::vector<HandWritten> hand_written(const std::vector<DerivedRule>& rules,
                                      std::string_view component, const JsonObject& values);

}  // namespace lockstep::bundle
