// Nothing in another namespace counts as the driver, its validator or its client, whatever labels a
// tenant writes.
#pragma once

#include "sim/oracle/invariant.h"

namespace lockstep::sim {

// A look-alike is removed as ordinary work is, by an eviction in its turn, or stays where it is. It
// keeps no node from being reconciled: a node without a driver of its own is never upgraded.
class OnlyTheDriverCounts final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_pod_end(const PodEnd& end) override;
  void on_node(const NodeStep& step) override;

 private:
  bool has_lookalike(const std::string& node) const;
};

}  // namespace lockstep::sim
