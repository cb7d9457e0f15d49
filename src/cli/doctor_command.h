// `lockstep doctor`: what is wrong with the cluster, or with this machine, and the command that
// repairs it.
#pragma once

#include <string>
#include <vector>

#include "cli/cluster_session.h"
#include "cli/terminal.h"
#include "doctor/check.h"

namespace lockstep::cli {

struct DoctorFlags {
  ClusterFlags cluster;
  std::string ns = "lockstep-system";
  std::string service_account = "lockstep-controller";
  std::string matrix;               // a file to compare versions with
  std::string stuck_after = "10m";  // how long a claim may take to go
  bool strict = false;
  bool node = false;  // this machine instead of the cluster
  std::string root;   // where the machine's file system is; empty: here
  std::string checkpoint = "/var/lib/kubelet/plugins/gpu.lockstep.dev/checkpoint";
  std::string output = "table";
};
int run_doctor(const DoctorFlags& flags);

// For display.
std::string doctor_text(const std::vector<doctor::Check>& checks, const Terminal& terminal);

}  // namespace lockstep::cli
