// A dashboard on a fleet's watches, for the commands that have one: `dashboard`, `demo`,
// `controller`.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/cluster_session.h"
#include "controller/matrix_log.h"
#include "dashboard/dashboard.h"
#include "dashboard/fleet_feed.h"
#include "dashboard/fleet_model.h"
#include "dashboard/fleet_source.h"
#include "dashboard/matrix_feed.h"
#include "git/allowed.h"
#include "view/fleet_watch.h"

namespace lockstep::cli {

struct DashboardPlace {
  std::string address = "127.0.0.1:8640";  // empty: none
  std::string cluster;                     // what the page calls it; empty: the context's name
  std::string rack_label = "topology.kubernetes.io/rack";
  // A version matrix to show; an empty repository: none.
  rollout::MatrixPlace matrix = {"", "", "gpu-version-matrix.yaml"};
  // Which of the repositories that rollouts name are read: by the controller, which commits to them
  // anyway. Nothing: none. On a user's machine an object of the cluster must not decide which
  // servers git contacts.
  std::optional<git::AllowedRepositories> rollouts_repositories = {};
  Duration matrix_interval = minutes(1);
};

class DashboardHost {
 public:
  // The caller starts and owns the watch, which outlives this object.
  static Result<std::unique_ptr<DashboardHost>> start(ClusterSession& session,
                                                      const ClusterFlags& flags,
                                                      view::FleetWatch& watch,
                                                      const DashboardPlace& place);
  DashboardHost(const DashboardHost&) = delete;
  DashboardHost& operator=(const DashboardHost&) = delete;

  std::string url() const { return dashboard_->url(); }
  size_t pages() const { return dashboard_->pages(); }

 private:
  DashboardHost(ClusterSession& session, const ClusterFlags& flags, view::FleetWatch& watch);
  void follow_matrices(ClusterSession& session, view::FleetWatch& watch,
                       const DashboardPlace& place);

  dashboard::FleetModel model_;
  dashboard::FleetSource source_;
  std::unique_ptr<dashboard::Dashboard> dashboard_;
  std::unique_ptr<dashboard::FleetFeed> feed_;
  std::unique_ptr<controller::MatrixLog> matrix_log_;
  std::unique_ptr<dashboard::MatrixFeed> matrix_feed_;
  Scope scope_;
};

}  // namespace lockstep::cli
