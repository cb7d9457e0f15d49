// `lockstep reroll`: what the post-install hook runs. Waits until the driver's migration is over,
// restarts the DRA plugin's pods that are older than their node's driver, and waits for them.
#pragma once

#include <string>

#include "cli/cluster_session.h"

namespace lockstep::cli {

struct RerollFlags {
  ClusterFlags cluster;
  std::string driver_namespace = "gpu-operator";
  std::string plugin_namespace = "nvidia-dra-driver";
  std::string plugin_selector;
  std::string driver_version;
  std::string chart_version;
  // As Go writes durations.
  std::string timeout = "20m";
  std::string rollout_timeout = "5m";
  std::string settle = "30s";
  std::string parallel = "25%";
  bool dry_run = false;
  std::string output = "table";
};
int run_reroll(const RerollFlags& flags);

}  // namespace lockstep::cli
