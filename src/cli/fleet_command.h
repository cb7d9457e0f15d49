// `lockstep fleet`: simulated GPU nodes and drivers against any API server, in real time.
#pragma once

#include "cli/cluster_session.h"

namespace lockstep::cli {

struct FleetFlags {
  ClusterFlags cluster;
  int nodes = 12;
  std::string driver_version = "580.105.08";
  double speed = 1;
  bool nodes_only = false;          // no objects, no operator: the cluster has them already
  bool real_control_plane = false;  // it has its own controllers and scheduler
  int work = 0;                     // GPU pods of a Deployment
  std::string gate_fails;           // driver version with which gates fail; empty: none
};
int run_fleet(const FleetFlags& flags);

}  // namespace lockstep::cli
