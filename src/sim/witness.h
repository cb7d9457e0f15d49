// Sees every change of the true state and says what must never happen: the invariants of an
// upgrade. It looks at the store itself, not at what a controller believes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "apiserver/store.h"
#include "fleet/keys.h"
#include "fleet/state.h"
#include "sim/cluster.h"

namespace lockstep::sim {

class Witness {
 public:
  Witness(Cluster& cluster, std::string key_domain = "nvidia.com");
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  // In the order in which they were seen; at most a hundred are kept.
  const std::vector<std::string>& violations() const { return violations_; }
  // What the machines know is asked once, at the end.
  void look_at_machines();

  // Of each node: when it was last given a slot, and when it was last returned to service.
  const std::map<std::string, Time>& began() const { return began_; }
  const std::map<std::string, Time>& returned() const { return returned_; }
  // How long finished upgrades took, from the slot to the end.
  const std::vector<Duration>& durations() const { return durations_; }
  Duration last_node_change() const { return last_node_change_; }
  std::map<fleet::State, int> nodes_by_state() const;
  // How many nodes have entered the state, ever or since the last call of count_afresh().
  int reached(fleet::State state) const;
  void count_afresh() { reached_.clear(); }

 private:
  void on_change(const std::string& storage, const apiserver::Change& change);
  void on_node(const apiserver::Change& change);
  void on_pod(const apiserver::Change& change);
  void check_transition(const std::string& node, fleet::State from, fleet::State to);
  void check_limits(const std::string& node, bool was_unavailable);
  void accuse(std::string what);

  Cluster& cluster_;
  fleet::Keys keys_;
  uint64_t listener_;
  std::vector<std::string> violations_;
  std::map<std::string, fleet::State> states_;
  std::set<std::string> unavailable_;
  std::set<std::string> active_;
  std::map<fleet::State, std::set<std::string>> reached_;
  std::map<std::string, Time> began_;
  std::map<std::string, Time> returned_;
  std::vector<Duration> durations_;
  Duration last_node_change_{0};
};

// Whether the state machine has this step.
bool is_allowed_transition(fleet::State from, fleet::State to);

}  // namespace lockstep::sim
