// What carries the labels of the GPU driver, its validators, its clients or NVIDIA's operator in a
// namespace where they mean nothing: the work of a tenant, or an installation that
// `--driver-namespaces` does not name.
#pragma once

#include <string>
#include <vector>

#include "view/fleet_watch.h"

namespace lockstep::view {

struct Lookalike {
  std::string kind;  // "DaemonSet", "Pod" or "Deployment"
  ObjectKey key;
  std::string of;  // what it resembles: "the GPU driver"

  bool operator==(const Lookalike&) const = default;
};

// Pods of a DaemonSet or Deployment that is listed itself are left out. In order of kind, namespace
// and name.
std::vector<Lookalike> find_lookalikes(const FleetWatch& watch);

}  // namespace lockstep::view
