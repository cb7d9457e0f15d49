// Pods that opened a node's driver after it was ready, whatever their times say: we saw it ready,
// removed the pod that was there, and this one came in its place. Times have seconds: a client that
// is back in the very second in which its driver became ready would be restarted once more for
// nothing. Lives in the process: whoever starts anew goes by the times alone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fleet/node_view.h"
#include "objects/daemon_set.h"

namespace lockstep::controller {

class Renewals {
 public:
  // What a removal would make certain, once the server has said that the pod was there and goes.
  struct Renewal {
    std::string node;
    Text driver;              // its pod's uid
    Time ready_since;         // of that pod
    Text owner;               // the DaemonSet's uid
    std::vector<Text> known;  // uids of its pods here at that time
  };
  // Nothing where the driver is not ready, the pod is nobody's, or its DaemonSet (null: not known)
  // may make the next pod before this one is gone.
  static std::optional<Renewal> of(const fleet::NodeView& view, const Pod& pod,
                                   const DaemonSet* set);

  void add(Renewal renewal);
  // Writes down in the view which of its pods have come since.
  void tell(fleet::NodeView& view) const;
  void forget(std::string_view node);

 private:
  std::map<std::string, std::vector<Renewal>, std::less<>> by_node_;
};

}  // namespace lockstep::controller
