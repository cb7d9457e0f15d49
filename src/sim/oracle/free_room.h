// What is free on the nodes in service, counted from the objects of the store and not by the
// simulated scheduler: whether a pod that waits has nowhere to go.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "objects/node.h"
#include "sim/actors/cluster.h"

namespace lockstep::sim {

class FreeRoom {
 public:
  // As it is at this moment.
  explicit FreeRoom(Cluster& cluster);

  // A node in service has what the pod asks for. Also of one whose claims are not there, or have
  // their devices already: it does not wait for room.
  bool has_place_for(const Json& pod) const;

 private:
  struct Free {
    StringMap labels;
    std::vector<Taint> taints;
    int64_t gpus = 0;
    int64_t devices = 0;  // that the node's ResourceSlices offer
  };
  void count_pods(Cluster& cluster);
  void count_devices(Cluster& cluster);

  std::map<std::string, Free> nodes_;         // in service: schedulable and Ready
  std::map<ObjectKey, int64_t> open_claims_;  // how many devices each wants that has none yet
};

}  // namespace lockstep::sim
