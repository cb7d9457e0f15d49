// What the real API server's audit log says: it has every request, so it shows whether a limit was
// ever passed, and which user sent how many requests, independently of our own counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace lockstep::real {

// One state of one node, as it was written.
struct NodeVersion {
  uint64_t version = 0;  // the object's resourceVersion: all nodes' changes have one order
  std::string node;
  std::string state;  // the label of the upgrade
  bool cordoned = false;
  bool ready = false;
  bool deleted = false;
  std::string user;  // who wrote it
  Time at;           // when it was answered

  bool operator==(const NodeVersion&) const = default;
};

// All writes of nodes that succeeded, in the order in which they came true. For this the log holds
// the answers to them (ControlPlane asks for that).
std::vector<NodeVersion> node_history(std::string_view log);

// How many nodes at once, at the worst moment, were in the middle of their upgrade, and how many
// could take no new work: cordoned, about to be, or not ready.
struct Most {
  size_t active = 0;
  size_t unavailable = 0;
};
Most most_at_once(const std::vector<NodeVersion>& history);

// "patch nodes" -> how often, of one user. A subresource is named with its resource: "create
// pods/eviction".
std::map<std::string, size_t> calls_of(std::string_view log, std::string_view user);

// Pods whose name begins so -> how often one of these users deleted them, and was not refused.
std::map<std::string, size_t> deletions(std::string_view log, std::string_view pods,
                                        const std::set<std::string, std::less<>>& users);

// Pods, as namespace/name, that this user evicted, and was not refused.
std::set<std::string> evicted(std::string_view log, std::string_view user);

// What the control plane itself takes to replace a pod of a DaemonSet: from the moment at which its
// kubelet removes the old one to the binding of the new one to the same node. The log holds the
// bodies of bindings for this.
std::vector<Duration> replacement_times(std::string_view log, std::string_view daemon_set,
                                        std::string_view kubelets);

}  // namespace lockstep::real
