// Beside NVIDIA's own upgrade controller, which restarts the driver and leaves its clients: those
// that opened the driver before it was restarted are deleted, node by node, as soon as the new
// driver is ready. The node remembers with which driver pod that was done.
#pragma once

#include <set>
#include <string>

#include "controller/fleet_watch.h"
#include "controller/rollout_watch.h"

namespace lockstep::controller {

class ClientRestarts {
 public:
  ClientRestarts(kube::Api& api, Log& log, FleetWatch& watch)
      : api_(api), log_(log), watch_(watch) {}
  ClientRestarts(const ClientRestarts&) = delete;
  ClientRestarts& operator=(const ClientRestarts&) = delete;

  // Of the rollout's nodes: those whose driver pod is newer than the rollout.
  void look_at(const KnownRollout& known);

 private:
  void look_at(const std::string& node, const DriverFacts& facts);
  void call(const std::string& node, kube::Request request);

  kube::Api& api_;
  Log& log_;
  FleetWatch& watch_;
  std::set<std::string> busy_;
  Scope scope_;
};

}  // namespace lockstep::controller
