// What a wave needs to open and to pass: nodes that can be upgraded, and nodes that were. A wave
// without them is held for a user; it never passes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fleet/keys.h"
#include "fleet/reason.h"
#include "rollout/membership.h"
#include "rollout/rollout_progress.h"
#include "rollout/rollout_view.h"
#include "upgrade/policy.h"

namespace lockstep::rollout {

// The rollout holds for one of these, and continues by itself when the nodes are there.
bool is_short_of_nodes(const fleet::ReasonName& reason);

// Why the node cannot be upgraded now; empty: it can.
std::string excluded_because(const Node& node, bool skipped, const fleet::Keys& keys,
                             const upgrade::Policy& policy);

// The nodes in no wave before `index`. Nodes that came after the rollout started are in the last
// wave, unless an earlier one would have none.
std::vector<Candidate> free_nodes(const RolloutView& view, size_t index, Time started);

// The wave does not open with these nodes; nothing: it does.
std::optional<Reason> too_few_to_open(const RolloutView& view, size_t index,
                                      const WaveChoice& choice, const std::vector<Candidate>& free);

// The nodes that were written down for the wave are still there, and of every kind that it needs.
bool has_nodes_for(const RolloutView& view, size_t index, Time started);

// The wave opened, none of its nodes is in progress, and too few of them run the new driver for it
// to pass; nothing: it may pass.
std::optional<Reason> missing_evidence(const RolloutView& view, size_t index,
                                       const Progress& progress);

// Every node that is not skipped is in an earlier wave, which passed: this one has nothing to show.
bool is_left_empty(const RolloutView& view, size_t index);

}  // namespace lockstep::rollout
