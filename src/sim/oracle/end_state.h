// How a run ended: whether the fleet is where it should be, whether the controller has come to
// rest, and what two runs must have in common whatever happened on the way.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/keys.h"
#include "fleet/reason.h"
#include "sim/actors/cluster.h"

namespace lockstep::sim {

// The caller is a controller under test; users, the fleet and the server itself are not.
bool is_controller(std::string_view user);

// What is missing to the goal, a sentence for each node; empty: the goal is reached. Every node is
// done with the driver that it should have, or failed with a reason, or waits for something that
// only users or other machines can change. `reasons` is why each is where it is.
std::vector<std::string> missing_to_goal(Cluster& cluster,
                                         const std::map<std::string, fleet::Reason>& reasons,
                                         const fleet::Keys& keys = fleet::Keys());

// What must be equal at the end of two runs that differ only in what went wrong on the way: of each
// node its state, cordon, reason of failure, what it remembers of the upgrade, the driver and
// version that really are loaded, and whether the clients fit; of each workload how many pods run,
// or wait because no node in service has room for them. A pod that waits beside free room is
// missing. Not: times, names of pods, where work was placed, and which of the work waits where not
// all fits.
inline constexpr std::string_view fact_of_work = "pods that run or find no room";
struct EndFacts {
  // "node gpu-1" -> "state" -> "upgrade-done"
  std::map<std::string, std::map<std::string, std::string>> things;

  bool operator==(const EndFacts&) const = default;
};
EndFacts end_facts(Cluster& cluster, const fleet::Keys& keys = fleet::Keys());

// "node gpu-1: state is upgrade-failed, and was upgrade-done in the other run": at most twenty.
std::vector<std::string> differences(const EndFacts& seen, const EndFacts& expected);

}  // namespace lockstep::sim
