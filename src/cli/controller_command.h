// `lockstep controller`: the upgrade controller, in the cluster or outside it.
#pragma once

#include <string>

#include "cli/cluster_session.h"

namespace lockstep::cli {

struct ControllerFlags {
  ClusterFlags cluster;
  std::string ns = "lockstep-system";
  std::string mode = "drive";
  bool elect = true;
  std::string lease = "lockstep-controller";
  std::string identity;  // in the lease; empty: user@host and a random part
  std::string status_address = "127.0.0.1:9464";  // metrics, health; empty: none
  std::string dashboard_address;                  // empty: none
  size_t parallel_writes = 32;
  std::string gate_image;  // that runs `lockstep gate` on nodes; empty: the usual one
  std::string gate_namespace = "lockstep-gates";  // of the gates' Jobs
  bool job_gates = false;  // rollouts may have gates with a pod template of their own
  // NVIDIA's own controller takes the nodes' steps.
  bool conducts() const { return mode == "coordinate" || mode == "conduct"; }
  std::string on_bad_config = "leave";  // what becomes of pods whose request is wrong
  std::vector<std::string> bad_config_words;
  std::vector<std::string> git_repositories;      // that rollouts may name, with their credentials
  bool allow_local_git = false;                   // for tests and demonstrations
  std::vector<std::string> allow_gate_addresses;  // besides those that are never refused
  std::string notify_address;                     // a webhook; empty: no notifications
  std::string notify_form = "json";
  std::string notify_cluster;  // which cluster, for users with several
};
int run_controller(const ControllerFlags& flags);

}  // namespace lockstep::cli
