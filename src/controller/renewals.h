// Of one node: pods that opened its driver after it was ready, whatever their times say. We saw it
// ready, removed the pod that was there, and this one came in its place. Times have seconds: a
// client that is back in the very second in which its driver became ready would be restarted again
// without need. Kept in the process: after a restart, the times alone decide.
#pragma once

#include <optional>
#include <vector>

#include "fleet/node_view.h"
#include "objects/daemon_set.h"

namespace lockstep::controller {

class Renewals {
 public:
  // What a removal would make certain, once the server has said that the pod was there and goes.
  struct Renewal {
    Text driver;              // its pod's uid
    Time ready_since;         // of that pod
    Text owner;               // the DaemonSet's uid
    std::vector<Text> known;  // uids of its pods here at that time
  };
  // Nothing where the driver is not ready, the pod has no owner, or its DaemonSet (null: not known)
  // may make the next pod before this one is gone.
  static std::optional<Renewal> of(const fleet::NodeView& view, const Pod& pod,
                                   const DaemonSet* set);

  void add(Renewal renewal);
  // Writes down in the view which of its pods have come since.
  void tell(fleet::NodeView& view) const;
  void forget() { held_.clear(); }

 private:
  std::vector<Renewal> held_;
};

}  // namespace lockstep::controller
