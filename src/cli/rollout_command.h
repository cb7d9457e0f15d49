// `lockstep rollout …`: make, show and steer a fleet's upgrade in waves.
#pragma once

#include <string>

#include "cli/cluster_session.h"

namespace lockstep::cli {

enum class RolloutVerb {
  create,
  list,
  status,
  promote,
  pause,
  resume,
  abort,
  retry,
  rollback,
  history,
};

struct RolloutFlags {
  ClusterFlags cluster;
  RolloutVerb verb = RolloutVerb::list;
  std::string name;  // empty: the only one
  std::string file;
  std::string wave;
  std::string output = "table";
  bool force = false;  // of promote
  bool watch = false;
  std::string reason;  // of a command: why
  bool dry_run = false;
};
int run_rollout(const RolloutFlags& flags);

}  // namespace lockstep::cli
