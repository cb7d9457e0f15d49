// Waves beside NVIDIA's own upgrade controller, which takes the nodes' steps itself. Before the
// version changes, Lockstep labels the nodes outside the open waves, so that it skips them; a wave
// opens by removing the label. A label that a user has set stays.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fleet/keys.h"
#include "rollout/rollout_gate.h"
#include "rollout/rollout_view.h"

namespace lockstep::rollout {

using fleet::kept_back_annotation;

bool is_kept_back(const Node& node);
// Skipped, and not by a rollout.
bool is_skipped_by_person(const Node& node, const fleet::Keys& keys);

struct SkipChange {
  std::string node;
  bool skip = false;
  // It waits for an upgrade that it does not need any more.
  bool is_done = false;

  bool operator==(const SkipChange&) const = default;
};

// Its rollout no longer exists (null) or has nothing to do with it since it got another
// NVIDIADriver, and no other rollout governs it: the node is released.
bool is_left_behind(const Node& node, const RolloutSpec* keeper, bool governed);

// Nodes that must be held come first: a wave opens only when all of them are held.
std::vector<SkipChange> skips_due(const RolloutView& view, const RolloutGate& gate,
                                  const fleet::Keys& keys);
// One patch: the label and its owner. On the version of the node that was decided on: one that
// arrives late must change nothing.
Json skip_patch(const SkipChange& change, const std::string& rollout, const fleet::Keys& keys,
                std::string_view resource_version);

}  // namespace lockstep::rollout
