// `lockstep pause`, `resume`, `retry`, `skip` and `unskip`: manual controls of an upgrade.
#pragma once

#include <string>
#include <vector>

#include "cli/cluster_session.h"

namespace lockstep::cli {

struct PauseFlags {
  ClusterFlags cluster;
  bool resume = false;
  std::string pool;  // empty: all
  std::string reason;
  bool dry_run = false;
};
int run_pause(const PauseFlags& flags);

enum class NodeSteering { retry, skip, unskip };
struct SteerFlags {
  ClusterFlags cluster;
  NodeSteering what = NodeSteering::retry;
  std::vector<std::string> nodes;
  bool force = false;  // retry: also a node that has not failed
  std::string reason;  // why, for later readers
  bool dry_run = false;
};
int run_steer(const SteerFlags& flags);

}  // namespace lockstep::cli
