// The nodes of a rollout, as a decision about it reads them. A bake lasts for days in which nothing
// happens, and a fleet has thousands of nodes: what has not changed since the last time is not put
// together again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/bake_keeper.h"
#include "view/fleet_watch.h"
#include "view/rollout_driver.h"

namespace lockstep::controller {

class RolloutNodes {
 public:
  using ReasonOf = std::function<fleet::ReasonName(const std::string& node)>;

  RolloutNodes(view::FleetWatch& watch, Loop& loop, bool conduct, ReasonOf reason_of);
  RolloutNodes(const RolloutNodes&) = delete;
  RolloutNodes& operator=(const RolloutNodes&) = delete;

  // Fills in the nodes, and which revision they are to have.
  void add_to(const view::KnownRollout& known, rollout::RolloutView& view);
  // False while a write of ours to it is not shown yet.
  bool is_object_current(const rollout::RolloutSpec& spec) const;
  void expect_object(const rollout::RolloutSpec& spec, const std::string& version);
  // Both sides of a bake: upgraded nodes, and those that wait.
  std::vector<BakeNode> bake_nodes(const rollout::RolloutView& view);

 private:
  struct Memory : view::DriverOfRollout {
    int64_t generation = -1;  // of the rollout's spec
    uint64_t changes = 0;
    Duration at{0};
    std::vector<rollout::RolloutNode> nodes;
  };
  bool is_outside(const view::KnownRollout& known, const std::string& node,
                  const view::DriverFacts& facts) const;
  void put_together(const view::KnownRollout& known, Memory& memory) const;
  // What a bake reads of a node besides its object.
  struct Running {
    bool busy = false;
    std::vector<std::string> published;
  };
  const Running& running_on(const std::string& node);

  view::FleetWatch& watch_;
  Loop& loop_;
  bool conduct_;
  ReasonOf reason_of_;
  uint64_t changes_ = 1;  // of any node
  std::map<std::string, Memory> memories_;
  std::unordered_map<std::string, Running> running_;  // as far as it was asked since the change
  Scope scope_;
};

}  // namespace lockstep::controller
