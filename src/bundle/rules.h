// The rules of a catalogue, read: derived values, releases and hooks.
#pragma once

#include <vector>

#include "base/result.h"
#include "bundle/catalogue.h"
#include "bundle/rule_files.h"

namespace lockstep::bundle {

struct Rules {
  std::vector<DerivedRule> derived;
  std::vector<ReleaseRule> releases;
  std::vector<HookRule> hooks;
};

// Of two rules with the same name, the one in the upper layer counts. If rules and registry come
// from different layers (a user's data directory), rules may name components that the registry
// lacks and that no recipe will have.
Result<Rules> read_rules(const Catalogue& catalogue);

}  // namespace lockstep::bundle
