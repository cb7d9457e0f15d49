// One node of a forward run, and what the world does with it: writes are carried out on its view,
// evicted pods go, drivers come up.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rollout/forward_run.h"

namespace lockstep::rollout {

// The disruption budgets, as evictions use them up and pods that run again give them back.
class ForwardBudgets {
 public:
  using Objects = std::vector<std::shared_ptr<const PodDisruptionBudget>>;
  // `returns`: how long after its eviction a pod runs again.
  ForwardBudgets(const Objects& budgets, Duration returns);

  // Those that cover the pod and allow no disruption now.
  std::vector<std::string> blocking(const Pod& pod, Time now);
  // False: a budget refuses it.
  bool evict(const Pod& pod, Time now);
  // When the budgets that refuse the pod may allow it; nothing: never.
  std::optional<Time> gives_way(const Pod& pod, Time now);

 private:
  struct Budget {
    std::shared_ptr<const PodDisruptionBudget> object;
    int64_t allowed = 0;
    std::multiset<Time> returns;  // one each
  };
  std::vector<Budget*> covering(const Pod& pod, Time now);

  std::map<std::string, std::vector<Budget>, std::less<>> by_namespace_;
  Duration returns_;
};

class ForwardNodeRun {
 public:
  ForwardNodeRun(ForwardNode node, const fleet::Keys& keys, Time now);

  fleet::NodeView& view() { return node_.view; }
  const fleet::NodeView& view() const { return node_.view; }
  const ForwardNode& node() const { return node_; }
  fleet::State state() const { return fleet::state_of(*writable_, *keys_); }
  const std::string& name() const { return planned.name; }

  // What the world has done by now, before a decision is made. Set: it is busy until then, and
  // nothing is to be decided before.
  std::optional<Time> see_world(const upgrade::PoolView& pool, const upgrade::Rules& rules,
                                const Pace& pace, Time now, ForwardBudgets& budgets);
  void apply(const upgrade::NodePatch& patch);
  void remove(const upgrade::PodRemovals& removals, Time now, ForwardBudgets& budgets);

  PlannedNode planned;

 private:
  bool lacks_driver() const;
  void bring_driver(Time now);
  void renew_validators(Time now);
  void finish_jobs(const upgrade::WaitPolicy& wait);
  void see_evictions(const upgrade::Policy& policy, const upgrade::Rules& rules, Time now,
                     ForwardBudgets& budgets);
  void note_moved(const Pod& pod);
  void note_blocked(std::string text);

  ForwardNode node_;
  std::shared_ptr<Node> writable_;  // the view's
  const fleet::Keys* keys_;
  Time origin_;
  Duration worked_before_{0};
  bool has_worked_ = false;
  std::set<std::string> jobs_;
};

}  // namespace lockstep::rollout
