// No more nodes at once than the policy allows, counted in the true state.
#pragma once

#include <map>
#include <set>
#include <string>

#include "controller/slot_ledger.h"
#include "sim/oracle/invariant.h"

namespace lockstep::sim {

// Out of service by our doing: never above maxUnavailable. A node that gets a slot is counted
// together with those that others had taken out of service by then; one that fails later is not our
// doing.
class MaxUnavailable final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_node(const NodeStep& step) override;
  void on_change(const std::string& storage, const apiserver::Change& change, bool ours) override;

 private:
  // How much of the nodes' history the controller had seen when it gave the node its slot.
  std::map<std::string, uint64_t> seen_;
};

// The given slots fit beside those in use: a node with a slot that does not fit can only return it,
// and the fleet would spend its day with that.
class SlotsFit final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_change(const std::string& storage, const apiserver::Change& change, bool ours) override;

 private:
  void check(const std::string& pool, const controller::Ledger& ledger,
             const std::set<std::string>& given) const;
};

class MaxParallel final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_node(const NodeStep& step) override;
};

}  // namespace lockstep::sim
