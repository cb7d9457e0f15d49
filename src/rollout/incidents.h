// What happened on nodes, grouped into incidents: one broken GPU reports ten errors within minutes,
// and they are one cause. What happens on a node within ten minutes is one incident, whatever its
// kinds and counts.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/time.h"

namespace lockstep::rollout {

using EventCounts = std::map<std::string, int64_t>;     // by kind: "FatalXid"
using NodeEvents = std::map<std::string, EventCounts>;  // by node

inline constexpr Duration incident_length = minutes(10);

class Incidents {
 public:
  // What happened between two observations. True: it begins an incident; false: it may belong to
  // the node's last one.
  bool add(const std::string& node, const EventCounts& events, Duration from, Duration to);

  // On this node.
  int64_t count(const std::string& node) const;
  int64_t count() const { return count_; }
  int64_t nodes() const { return static_cast<int64_t>(by_node_.size()); }
  // "gpu-1: 10 FatalXid, 2 GpuLost; gpu-2: 1 FatalXid", of many nodes the first few.
  std::string text() const;

 private:
  struct OfNode {
    int64_t count = 0;
    Duration began{0};  // the last one, at the latest
    EventCounts events;
  };
  std::map<std::string, OfNode> by_node_;
  int64_t count_ = 0;
};

}  // namespace lockstep::rollout
