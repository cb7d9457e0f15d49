// Two clusters in which the same happened, compared object by object and field by field: what
// differs by nature (times, uids, versions, the random parts of names) is put into the same words
// first.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"

namespace lockstep::real {

// "spec.containers[nvidia-driver-ctr].image" -> "nvcr.io/nvidia/driver:580.126.20-ubuntu24.04"
using Facts = std::map<std::string, std::string>;
// "Pod gpu-operator/DaemonSet nvidia-driver-daemonset on gpu-1" -> its fields
using ObjectFacts = std::map<std::string, Facts>;

// All objects of one cluster. Entries of a list are identified by their name, type or key where
// they have one, so that their order does not count.
ObjectFacts facts_of(const std::vector<Json>& objects);

// A difference that is known, and why it is not a fault of ours:
// docs/API-SERVER.md says the same in words. A star matches
// anything.
struct KnownDifference {
  std::string_view objects;  // the beginning of the objects' names; empty: all
  std::string_view path;     // the beginning of the field's path; empty: the whole object
  std::string_view reason;
};

// "Node gpu-1: spec.taints[x].effect: NoSchedule here, nothing there", in order.
std::vector<std::string> differences(const ObjectFacts& here, const ObjectFacts& there,
                                     const std::vector<KnownDifference>& known);

}  // namespace lockstep::real
