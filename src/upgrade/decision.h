// The result of decide(): at most one write, a reason, and when to requeue.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"
#include "data/json.h"
#include "fleet/node_view.h"
#include "fleet/reason.h"
#include "fleet/state.h"
#include "fleet/tally.h"
#include "upgrade/policy.h"

namespace lockstep::upgrade {

using fleet::Reason;
using fleet::State;

// One patch of the node, with its version as a precondition: the state, the timers and the cordon
// change together or not at all.
struct NodePatch {
  std::string resource_version;
  std::optional<State> to;  // the state that is entered
  std::vector<std::pair<std::string, std::optional<std::string>>> labels;  // nothing: removed
  std::vector<std::pair<std::string, std::optional<std::string>>> annotations;
  std::optional<bool> unschedulable;

  // As a merge patch.
  Json body() const;
  bool operator==(const NodePatch&) const = default;
};

enum class Removal {
  evict,         // by the Eviction API, which asks the budgets
  remove,        // a plain deletion: pods of a DaemonSet come back
  force_remove,  // with grace period zero
};
std::string_view to_string(Removal removal);

struct PodRemoval {
  fleet::PodPtr pod;
  Removal how = Removal::evict;
  bool operator==(const PodRemoval&) const = default;
};
// Each may be done again without harm: a pod is named by its uid.
using PodRemovals = std::vector<PodRemoval>;

struct Announcement {
  bool warning = false;
  std::string message;
  bool operator==(const Announcement&) const = default;
};

using Write = std::variant<std::monostate, NodePatch, PodRemovals>;

// What a decision must have seen before it is written: the watches may be late. A step that is
// irreversible (a driver that goes, an upgrade that is given up, a node that returns to service) or
// that undoes what was done only just is decided again on what the cluster itself says, and only
// written if that leads to such a step too. Each includes those before it.
enum class Freshness {
  as_shown,   // what the watches show is enough
  pods,       // the node and its pods are read
  driver,     // and the driver's DaemonSet: for all that would not be done for another revision
  revisions,  // and its revisions: for what depends on which is the newest. If the driver pod is in
              // sync although it was not replaced, either the change was reverted, or we do not
              // know the newest revision.
};

struct Decision {
  Write write;
  Reason reason;
  std::optional<Duration> look_again;  // besides when something changes
  // Events on the node, once the write has been done; or, without a write, once per reason.
  std::vector<Announcement> events;
  Freshness freshness = Freshness::as_shown;
  // The node's ResourceSlices are read as well: they have a watch of their own, which may be late.
  bool reads_slices = false;

  const NodePatch* patch() const { return std::get_if<NodePatch>(&write); }
  const PodRemovals* removals() const { return std::get_if<PodRemovals>(&write); }
  bool writes() const { return !std::holds_alternative<std::monostate>(write); }
};

// What a decision knows of the node's pool.
struct PoolView {
  std::string name;
  // Shared: every decision about a node of the pool is handed the same.
  std::shared_ptr<const Policy> policy = std::make_shared<const Policy>();
  fleet::PoolCounts counts;
  // Set: nothing at all may be done, and this is why.
  std::optional<Reason> frozen;
};

struct Rules {
  fleet::Keys keys;
};

Decision hold(Reason reason, std::optional<Duration> look_again = {});

}  // namespace lockstep::upgrade
