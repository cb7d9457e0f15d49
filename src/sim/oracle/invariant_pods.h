// What may be done to pods, and when: no pod loses its GPU while it uses it, and no pod is evicted
// that the policy protects or that need not move.
#pragma once

#include "sim/oracle/invariant.h"

namespace lockstep::sim {

// A driver is restarted only on a node that is cordoned and has no GPU pod left that could have
// been moved.
class SafeRestart final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_pod_end(const PodEnd& end) override;
};

// Only pods that the state of their node allows to be removed are, in the way that asks their
// budgets, and none that a setting protects (sections 4, 5); if one is protected, none is moved.
class ProtectedPods final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_pod_end(const PodEnd& end) override;
  // No pod is deleted by force if it is unknown whether it still runs.
  void on_request(const kube::Request& request) override;

 private:
  void check_daemon_pod(const PodEnd& end, const NodeTruth& node) const;
  void check_work(const PodEnd& end, const NodeTruth& node) const;
  // A DRA plugin that has a previous driver open: restarting it repairs it.
  bool is_stale_client(const PodEnd& end) const;
};

// No pod is evicted for a change that does not affect the driver, or that was reverted.
class NoNeedlessEviction final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_pod_end(const PodEnd& end) override;
};

}  // namespace lockstep::sim
