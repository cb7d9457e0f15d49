// What must never happen in a rollout: a node that begins outside the open waves, a wave that opens
// on anything but Passed, or a rollback that ends elsewhere than at the version before.
#pragma once

#include <map>
#include <string>

#include "rollout/rollout_status.h"
#include "sim/invariant.h"

namespace lockstep::sim {

// No node outside the open waves is begun.
class OpenWavesOnly : public Invariant {
 public:
  using Invariant::Invariant;
  void on_node(const NodeStep& step) override;
  void on_change(const std::string& storage, const apiserver::Change& change, bool ours) override;

 private:
  Duration changed_ = Duration::min();  // what a rollout allows last did
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
  void on_change(const std::string& storage, const apiserver::Change& change, bool ours) override;

 private:
  bool has_run(const std::string& node, const rollout::DriverRevision& revision) const;
  void check(const apiserver::StoredPtr& object, const rollout::RolloutStatus& status, size_t wave);

  // Of the driver pods that a node has had: the DaemonSet by revision.
  std::map<std::string, std::map<std::string, std::string>> seen_;
  std::map<std::string, Duration> deleted_;  // nodes
};

// A rollback ends when no node of the pool runs another version than the previous one, in whichever
// wave it is or in none, or it is held, and says why.
class RollbackEndsBack : public Invariant {
 public:
  using Invariant::Invariant;
  void on_change(const std::string& storage, const apiserver::Change& change, bool ours) override;

 private:
  bool has_newest_driver(const std::string& node) const;
  void look_at_nodes(const apiserver::StoredPtr& object, const rollout::RolloutStatus& status);
};

}  // namespace lockstep::sim
