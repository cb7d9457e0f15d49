// What pages request one at a time, from a real fleet: a node with its events, the plan, and a
// user's actions, with that user's own token.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "dashboard/dashboard.h"
#include "dashboard/fleet_model.h"
#include "kube/api.h"
#include "view/fleet_watch.h"
#include "world/loop.h"

namespace lockstep::dashboard {

struct FleetSourceParts {
  view::FleetWatch& watch;
  kube::Api& api;  // for events of nodes; ours
  Loop& loop;
  const FleetModel& model;
  // A connection to the same cluster, as the owner of this token.
  std::function<Result<std::unique_ptr<kube::Api>>(const std::string& token)> connect_as;
  std::function<Json(bool assume_change)> plan;
  // Why nothing may be written; empty: it may.
  std::string read_only = {};
};

class FleetSource final : public Source {
 public:
  explicit FleetSource(FleetSourceParts parts) : parts_(std::move(parts)) {}

  void node(const std::string& name, JsonCallback done) override;
  void plan(bool assume_change, JsonCallback done) override;
  void access(const std::string& token, JsonCallback done) override;
  void act(const std::string& token, const operate::Action& action, JsonCallback done) override;

 private:
  std::vector<operate::PolicyObject> policies_of(const std::string& pool) const;

  FleetSourceParts parts_;
  Scope scope_;
};

}  // namespace lockstep::dashboard
