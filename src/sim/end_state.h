// How a run ended: whether the fleet is where it should be, whether the controller has come to
// rest, and what two runs must have in common whatever happened on the way.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/keys.h"
#include "sim/cluster.h"

namespace lockstep::sim {

// The caller is a controller under test; people, the fleet and the server itself are not.
bool is_controller(std::string_view user);

// Every node is done, or failed and says why.
bool at_goal(Cluster& cluster, const fleet::Keys& keys = fleet::Keys());
// What is missing, a sentence for each node; empty: at its goal.
std::vector<std::string> missing_to_goal(Cluster& cluster, const fleet::Keys& keys = fleet::Keys());

// Sees what the controller writes, of whatever kind but leases.
class WriteWatch {
 public:
  explicit WriteWatch(Cluster& cluster);
  ~WriteWatch();
  WriteWatch(const WriteWatch&) = delete;
  WriteWatch& operator=(const WriteWatch&) = delete;

  uint64_t writes() const { return writes_; }
  // When the last was, on the loop's uptime; when this began, if there was none.
  Duration last() const { return last_; }
  Duration quiet_for() const { return cluster_.loop.uptime() - last_; }

 private:
  Cluster& cluster_;
  uint64_t listener_;
  uint64_t writes_ = 0;
  Duration last_{0};
};

// What must be equal at the end of two runs that differ only in what went wrong on the way: of each
// node its state, cordon, reason of failure, what it remembers of the upgrade, the driver and
// version that really are loaded, and whether the clients fit; of each workload how many pods run.
// Not: times, names of pods, and where work was placed.
struct EndFacts {
  // "node gpu-1" -> "state" -> "upgrade-done"
  std::map<std::string, std::map<std::string, std::string>> things;

  bool operator==(const EndFacts&) const = default;
};
EndFacts end_facts(Cluster& cluster, const fleet::Keys& keys = fleet::Keys());

// "node gpu-1: state is upgrade-failed, and was upgrade-done in the other run": at most twenty.
std::vector<std::string> differences(const EndFacts& seen, const EndFacts& expected);

}  // namespace lockstep::sim
