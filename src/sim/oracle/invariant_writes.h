// The controller writes a bounded amount: no loop without a pause, no upgrade that never ends.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>

#include "sim/oracle/invariant.h"

namespace lockstep::sim {

class BoundedWrites final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_node(const NodeStep& step) override;
  void on_pod_end(const PodEnd& end) override;
  void on_request(const kube::Request& request) override;

  // Calls about one object in one minute of virtual time: retries are spaced out.
  static constexpr int most_calls_a_minute = 120;
  // Changes of one node by the controller alone: an upgrade takes ten.
  static constexpr int most_changes = 60;
  // Pods of one DaemonSet on one node that we remove within ten minutes. Each has another name, so
  // a loop of these is not a loop of calls about one object.
  static constexpr size_t most_removals = 10;

 private:
  int64_t minute_ = -1;
  std::map<std::string, int> calls_;  // in this minute, by verb and object
  std::map<std::string, int> changes_;
  std::map<std::string, std::deque<Duration>> removals_;  // by node and DaemonSet
};

// A pod is removed by its uid, for another may bear its name by the time the call arrives.
class NamedByUid final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_request(const kube::Request& request) override;
};

// A controller that knows what its write made of a node does not write to that node again on an
// older view: it waits until its watch has caught up. The API server would refuse the second
// write. Where a write has no such lock, the node would be taken to a state where it was
// already.
class OwnWritesFirst final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_call(int life, const kube::Request& request) override;
  void on_reply(int life, const kube::Request& request, const kube::Response& reply) override;

 private:
  static bool is_node_patch(const kube::Request& request);

  // By controller and node: the version that its last write made.
  std::map<std::pair<int, std::string>, uint64_t> made_;
};

}  // namespace lockstep::sim
