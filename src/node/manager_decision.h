// What the driver-manager does next: a pure function of what it sees. The state of the node and the
// machine decides, not what was done before. So a process that was killed anywhere is followed by
// one that continues.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "node/manager_view.h"
#include "node/operands.h"
#include "upgrade/decision.h"

namespace lockstep::node {

struct UnloadModules {
  std::vector<std::string> order;
  bool operator==(const UnloadModules&) const = default;
};
struct CleanUp {
  std::vector<std::string> mounts;  // to be undone, in this order
  std::vector<std::string> files;
  bool operator==(const CleanUp&) const = default;
};
struct Finish {
  // The machine has a driver of its own: no container may load another.
  bool installed_on_host = false;
  bool operator==(const Finish&) const = default;
};

// Nothing: wait. An error: give up, and restore the node first.
using ManagerAction = std::variant<std::monostate, NodePatch, upgrade::PodRemovals, UnloadModules,
                                   CleanUp, Finish, Error>;

struct ManagerDecision {
  ManagerStep step = ManagerStep::finish;
  ManagerAction action;
  // What is done, or waited for, and why.
  std::string says;
  std::optional<Duration> look_again;  // besides when something changes
};

ManagerDecision decide_manager(const ManagerView& view, const ManagerSettings& settings);

}  // namespace lockstep::node
