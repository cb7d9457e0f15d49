// Beside NVIDIA's own upgrade controller, which restarts the driver and leaves its clients: those
// that opened the driver before it was restarted are deleted, node by node, as soon as the new
// driver is ready. The node remembers with which driver pod that was done.
#pragma once

#include <set>
#include <string>

#include "view/fleet_watch.h"
#include "view/rollout_watch.h"

namespace lockstep::controller {

class ClientRestarts {
 public:
  ClientRestarts(kube::Api& api, Log& log, view::FleetWatch& watch)
      : api_(api), log_(log), watch_(watch) {}
  ClientRestarts(const ClientRestarts&) = delete;
  ClientRestarts& operator=(const ClientRestarts&) = delete;

  // Of the rollout's nodes: those whose driver pod is newer than the rollout.
  void look_at(const view::KnownRollout& known);

 private:
  void look_at(const std::string& node, const view::DriverFacts& facts);
  void call(const std::string& node, kube::Request request);

  kube::Api& api_;
  Log& log_;
  view::FleetWatch& watch_;
  std::set<std::string> busy_;
  Scope scope_;
};

}  // namespace lockstep::controller
