// What the machines know, and no object says: which pods lost their GPU while they used it. Faults
// of machines, users and the controller reload a driver under running work; only reloads by the
// controller are violations.
#pragma once

#include <map>
#include <string>

#include "sim/oracle/invariant.h"

namespace lockstep::sim {

class NoAccident final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_pod_end(const PodEnd& end) override;

  // Checks the accidents that are new since the last call; cheap without accidents.
  void look_at_machines();

 private:
  // Why the driver of a node was last made to go.
  struct DriverEnd {
    bool ours = false;
    Duration at{0};
    Duration cordoned = Duration::max();  // since when the node was, at that time
    // Nothing had to be reloaded at that time: if the driver changes before the next pod is made,
    // it is loaded there, and a deletion that has begun is irreversible.
    bool cosmetic = false;
  };
  bool is_ours(const Accident& accident) const;

  std::map<std::string, DriverEnd> ends_;  // by node
  size_t judged_ = 0;
};

}  // namespace lockstep::sim
