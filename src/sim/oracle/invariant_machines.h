// What the machines know, and no object says: whose GPU was taken away under its feet. A driver is
// reloaded under running work by faults of machines, by people and by the controller; only the last
// is held against it.
#pragma once

#include <map>
#include <string>

#include "sim/oracle/invariant.h"

namespace lockstep::sim {

class NoAccident final : public Invariant {
 public:
  using Invariant::Invariant;
  void on_pod_end(const PodEnd& end) override;

  // Judges the accidents that were not there at the last call; cheap where there is none.
  void look_at_machines();

 private:
  // Why the driver of a node was last made to go.
  struct DriverEnd {
    bool ours = false;
    Duration at{0};
    Duration cordoned = Duration::max();  // since when the node was, at that time
    // Nothing had to be reloaded, at that time: whoever changes the driver before the next pod is
    // made has it loaded there, and nothing that has begun can be taken back.
    bool cosmetic = false;
  };
  bool is_ours(const Accident& accident) const;

  std::map<std::string, DriverEnd> ends_;  // by node
  size_t judged_ = 0;
};

}  // namespace lockstep::sim
