// What of a rollout reaches the decision about one node: may it begin now, and if not, why.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/node_view.h"
#include "rollout/rollout_spec.h"
#include "rollout/rollout_status.h"
#include "rollout/window.h"
#include "upgrade/policy.h"

namespace lockstep::rollout {

struct RolloutGate {
  std::string rollout;
  RolloutStatus status;
  std::vector<std::string> wave_names;
  std::map<std::string, size_t> wave_of;  // of nodes in waves that were written down
  bool paused = false;
  OutsideWave outside_wave = OutsideWave::contain;
  Time created;  // of the rollout
  std::vector<Window> windows;
  WindowState window;
  std::string group_by;  // a label: nodes of equal value start together
};

// The node's driver, as far as a rollout asks for it.
struct NodeDriver {
  std::string set;     // "namespace/name" of its DaemonSet
  std::string newest;  // revision of that
  // Of its pod; empty: it has none.
  std::string revision;
  std::string image;
  Time pod_created;
};

// The names of the waves that say which nodes may begin. Where the spec no longer begins with the
// waves that have opened, these are the waves of the status, until the controller holds the
// rollout: a shorter spec must not open its first wave to all nodes. A rollback needs no wave's
// rules.
std::vector<std::string> waves_in_force(const RolloutSpec& spec, const RolloutStatus& status);

// What keeps the node from beginning with the newest revision; nothing: it may begin.
std::optional<Reason> hold_of(const RolloutGate& gate, const std::string& node,
                              const NodeDriver& driver);

// Its driver pod came up with the newest revision, which no open wave allows: the upgrade of the
// node is not approved. Nothing: it is allowed, or that is not known.
std::optional<Reason> containment_of(const RolloutGate& gate, const std::string& node,
                                     const NodeDriver& driver);

// Fills in what keeps the node from beginning, and its group.
void apply_gate(const RolloutGate& gate, fleet::NodeView& view);

// What the wave that is open adds to the rules of the rollout's pool.
void limit_to_wave(const RolloutSpec& spec, const RolloutStatus& status, upgrade::Policy& policy);

}  // namespace lockstep::rollout
