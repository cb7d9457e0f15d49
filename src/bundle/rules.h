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

// Of two rules of one name that of the upper layer counts. Where the rules come from another layer
// than the registry (a data directory of somebody else's), they may speak of components that it
// lacks, which no recipe will have.
Result<Rules> read_rules(const Catalogue& catalogue);

}  // namespace lockstep::bundle
