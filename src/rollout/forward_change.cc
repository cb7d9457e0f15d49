// What a plan assumes where no change is pending: a new driver version for every node.
#include <map>
#include <memory>

#include "rollout/decide_rollout.h"
#include "rollout/forward_rollout.h"
#include "rollout/forward_run.h"

namespace lockstep::rollout {

namespace {

constexpr std::string_view planned_revision = "planned";
constexpr std::string_view planned_version = "a new version";

// What ran until now is recorded before it changes, as the controller does.
void record_present(const Snapshot& snapshot, ForwardRollout& rollout) {
  RolloutView& view = rollout.view;
  if (view.status.phase != Phase::pending && !is_over(view.status.phase)) return;
  for (const ForwardNode& node : snapshot.nodes) {
    if (node.rollout != view.name || node.view.driver.set == nullptr) continue;
    const upgrade::Policy& policy = snapshot.pools.at(node.view.pool).policy;
    view.nodes.push_back(rollout_node_of(node.view, policy, snapshot.rules.keys));
  }
  constexpr int most_writes = 5;
  for (int i = 0; i < most_writes; ++i) {
    const RolloutDecision decision = decide_rollout(view, snapshot.now);
    const auto* write = decision.as<StatusWrite>();
    if (write == nullptr || write->status.phase != view.status.phase) break;
    view.status = write->status;
  }
  rollout.gate.status = view.status;
}

// Another version always affects the driver.
std::shared_ptr<const DaemonSet> without_digest(const DaemonSet& set) {
  DaemonSet changed = set;
  for (auto* containers :
       {&changed.pod_template.spec.containers, &changed.pod_template.spec.init_containers}) {
    for (Container& container : *containers) container.environment.clear();
  }
  return std::make_shared<const DaemonSet>(std::move(changed));
}

}  // namespace

void assume_change(Snapshot& snapshot) {
  const std::string version(planned_version);
  for (auto& [name, rollout] : snapshot.rollouts) {
    record_present(snapshot, rollout);
    RolloutView& view = rollout.view;
    view.previous = view.target;
    for (auto& [set, hash] : view.target.revisions) hash = planned_revision;
    view.target.version = version;
    if (!view.object) continue;
    view.object = view.target.fields = DriverFields{JsonObject{{"version", version}}};
  }
  std::map<const DaemonSet*, std::shared_ptr<const DaemonSet>> changed;
  for (ForwardNode& node : snapshot.nodes) {
    fleet::DriverView& driver = node.view.driver;
    if (driver.set == nullptr) continue;
    auto& set = changed[driver.set.get()];
    if (!set) set = without_digest(*driver.set);
    driver.set = set;
    driver.newest_revision = Text(planned_revision);
  }
}

}  // namespace lockstep::rollout
