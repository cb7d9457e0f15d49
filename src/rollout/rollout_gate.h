// What of a rollout reaches the decision about one node: may it begin now, and if not, why.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fleet/node_view.h"
#include "rollout/rollout_status.h"
#include "rollout/window.h"

namespace lockstep::rollout {

struct RolloutGate {
  std::string rollout;
  RolloutStatus status;
  std::vector<std::string> wave_names;
  std::map<std::string, size_t> wave_of;  // of nodes in waves that were written down
  bool paused = false;
  std::vector<Window> windows;
  WindowState window;
};

// `set` and `newest`: the node's driver DaemonSet and its newest revision.
std::optional<fleet::RolloutHold> hold_of(const RolloutGate& gate, const std::string& node,
                                          const std::string& set, const std::string& newest);

}  // namespace lockstep::rollout
