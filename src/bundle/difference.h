// What an upgrade from one recipe or bundle to another would change, component by component.
#pragma once

#include <string>
#include <vector>

#include "bundle/resolve.h"
#include "bundle/values_map.h"
#include "data/json.h"

namespace lockstep::bundle {

// A recipe, and where it was bundled the values of each release.
struct Described {
  ResolvedRecipe recipe;
  ValuesMap values;
};

struct FieldChange {
  std::string field;   // "version", "values.driver.version"
  std::string before;  // as JSON; empty: not said
  std::string after;
};

struct ComponentChange {
  enum class Kind { added, removed, changed };

  std::string name;  // of a component or release
  Kind kind = Kind::changed;
  std::vector<FieldChange> fields;  // the version first, then by name
};

struct Difference {
  std::vector<ComponentChange> components;  // by name
  std::vector<FieldChange> constraints;     // by name
  std::vector<FieldChange> criteria;

  bool empty() const { return components.empty() && constraints.empty() && criteria.empty(); }
};

Difference difference(const Described& before, const Described& after);

Json to_json(const Difference& difference);
// For display; "no difference" if the bundles are equal.
std::string describe(const Difference& difference);

}  // namespace lockstep::bundle
