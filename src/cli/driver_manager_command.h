// `lockstep driver-manager`: the init container's work before a driver is loaded. Its flags have
// the names of the environment variables that the GPU operator sets.
#pragma once

#include <string>

#include "cli/cluster_session.h"

namespace lockstep::cli {

struct DriverManagerFlags {
  ClusterFlags cluster;
  std::string action;  // the argument of NVIDIA's manager: there is one
  std::string node;
  std::string operator_namespace = "gpu-operator";
  bool evict_gpu_pods = true;
  bool drain = true;
  bool force = false;
  std::string drain_pods;
  std::string drain_timeout = "0s";
  bool delete_empty_dir = false;
  std::string digest;
  bool force_reinstall = false;
  std::string plugin_label;
  std::string wait_timeout = "5m";
  // Where the machine is: "/" is the real one, anything else is only read.
  std::string root = "/";
};
int run_driver_manager(const DriverManagerFlags& flags);

// `lockstep enter-root ROOT PROGRAM …`, which is not documented for users: a program of the host
// runs in the host's own file system, with the host's libraries.
int enter_root(int argc, char** argv);

}  // namespace lockstep::cli
