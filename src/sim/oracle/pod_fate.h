// What an eviction is to do with a pod, by the policy's own words. Written from the specification
// (upgrade.md, section 5) and not by the functions that the controller uses: what they get wrong is
// to be found.
#pragma once

#include "data/json.h"
#include "fleet/keys.h"
#include "fleet/state.h"
#include "upgrade/policy.h"

namespace lockstep::sim {

enum class Fate { stays, leaves, protected_ };

// `state` is the one that evicts: pod-deletion moves pods that use a GPU, a drain moves all pods.
Fate fate_of(const Json& pod, fleet::State state, const upgrade::Policy& policy,
             const fleet::Keys& keys);

}  // namespace lockstep::sim
