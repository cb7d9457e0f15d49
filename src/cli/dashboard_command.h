// `lockstep dashboard`: the fleet's upgrade as a page, for any cluster that a kubeconfig names.
#pragma once

#include "cli/cluster_session.h"
#include "cli/dashboard_host.h"

namespace lockstep::cli {

struct DashboardFlags {
  ClusterFlags cluster;
  DashboardPlace place;
};
int run_dashboard(const DashboardFlags& flags);

}  // namespace lockstep::cli
