// What must never happen in a rollout: a node that begins outside the open waves, a wave that opens
// on anything but Passed, or a rollback that ends elsewhere than at the version before.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rollout/rollout_status.h"
#include "sim/oracle/invariant.h"
#include "sim/oracle/rollout_truth.h"

namespace lockstep::sim {

struct EndedPod {
  Duration at;
  Json pod;
};

// No node outside the open waves is begun.
class OpenWavesOnly : public Invariant {
 public:
  using Invariant::Invariant;
  void on_node(const NodeStep& step) override;
  void on_pod_end(const PodEnd& end) override;
  void on_change(const std::string& storage, const apiserver::Change& change, bool ours) override;

 private:
  std::vector<const Json*> driver_pods(const std::string& node) const;
  std::optional<TrueHold> hold_of(const apiserver::StoredPtr& rollout, const std::string& node,
                                  const Json& pod, const DriverTruth& driver) const;

  Duration changed_ = Duration::min();     // what a rollout allows last did
  std::map<std::string, EndedPod> ended_;  // the last driver pod that was deleted, by node
};

// A wave opens only when the one before it has passed, and waves open one by one.
class NoWaveWithoutPass : public Invariant {
 public:
  using Invariant::Invariant;
  void on_change(const std::string& storage, const apiserver::Change& change, bool ours) override;
};

// A wave passes only when a node that was written down for it runs the new driver. A user may
// decide otherwise, and a wave for which no node was left has nothing to show.
class NoPassWithoutUpgradedNode : public Invariant {
 public:
  using Invariant::Invariant;
  void on_pod_end(const PodEnd& end) override;
  void on_change(const std::string& storage, const apiserver::Change& change, bool ours) override;

 private:
  bool has_run(const std::string& node, const rollout::DriverRevision& revision) const;
  void check(const apiserver::StoredPtr& object, const rollout::RolloutStatus& status, size_t wave);

  std::map<std::string, EndedPod> ended_;  // the last driver pod that was deleted, by node
};

// The controller rolls back by itself only for what the new driver has shown: more nodes than the
// wave tolerates failed at or after the restart of their driver, or a gate or a bake failed and
// some node runs it. What failed before shows nothing: what was in the way is what tenants run
// there.
class RollbackNeedsEvidence : public Invariant {
 public:
  using Invariant::Invariant;
  void on_node(const NodeStep& step) override;
  void on_pod_end(const PodEnd& end) override;
  void on_change(const std::string& storage, const apiserver::Change& change, bool ours) override;

 private:
  struct Failure {
    bool with_driver = false;
    std::string set;       // of its driver pod at that moment; empty: it had none
    std::string revision;  // the newest of that set
    Duration ended = Duration::max();
  };
  bool has_run(const rollout::DriverRevision& revision) const;
  int64_t failed_with(const apiserver::StoredPtr& object, const rollout::RolloutStatus& status,
                      int64_t open_waves) const;
  int64_t fewest_to_roll_back(const Json& rollout, int64_t open_waves) const;

  std::map<std::string, Failure> failures_;                   // the last, by node
  std::set<std::pair<std::string, std::string>> were_there_;  // driver pods that are gone
};

// No node is in service with a driver that no open wave allows it: a node that got one all the same
// is taken out of service.
class NoUnapprovedDriver : public Invariant {
 public:
  using Invariant::Invariant;
  void on_node(const NodeStep& step) override;
  void on_pod(const std::string& node) override;
  void on_change(const std::string& storage, const apiserver::Change& change, bool ours) override;

 private:
  // "namespace/name" of a DaemonSet, and a revision of it.
  using Driver = std::pair<std::string, std::string>;
  bool is_suspect(const std::string& name);
  bool is_allowed_now(const apiserver::StoredPtr& rollout, const std::string& node,
                      const Driver& driver) const;
  // Now, or at any time before: what was upgraded then stays in service.
  bool was_allowed(const apiserver::StoredPtr& rollout, const std::string& node,
                   const Driver& driver);
  void look_at(const std::string& name);
  void look_at_all();
  // Nor is a node taken out of service for a driver that it may have.
  void check_containment(const NodeStep& step);

  Duration changed_ = Duration::min();  // what the rollout allows last did

  std::set<Driver> stable_;                          // what the fleet ran at some time
  std::map<Driver, std::set<std::string>> allowed_;  // nodes that were allowed it
  std::map<std::string, Duration> suspects_;         // since when
};

// A rollback ends when no node of the pool runs another version than the previous one, in whichever
// wave it is or in none, or it is held, and says why.
class RollbackEndsBack : public Invariant {
 public:
  using Invariant::Invariant;
  void on_change(const std::string& storage, const apiserver::Change& change, bool ours) override;

 private:
  bool has_newest_driver(const std::string& node) const;
  bool changed_just_now(const std::string& node) const;
  void look_at_nodes(const apiserver::StoredPtr& object, const rollout::RolloutStatus& status);
};

}  // namespace lockstep::sim
