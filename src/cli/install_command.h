// `lockstep install` and `lockstep uninstall`: Lockstep's own chart, without Helm.
#pragma once

#include <string>
#include <vector>

#include "cli/cluster_session.h"
#include "deploy/chart.h"

namespace lockstep::cli {

struct InstallFlags {
  ClusterFlags cluster;
  deploy::ReleaseName release;
  std::vector<std::string> values_files;
  std::vector<std::string> set;
  std::vector<std::string> set_string;
  std::vector<std::string> set_json;
  std::string image;                           // empty: as the values say
  std::vector<std::string> driver_namespaces;  // empty: as the values say
  bool dry_run = false;
  bool force = false;
  bool wait = false;
  std::string timeout = "5m";
};
int run_install(const InstallFlags& flags);

struct UninstallFlags {
  ClusterFlags cluster;
  deploy::ReleaseName release;
  bool force = false;
};
int run_uninstall(const UninstallFlags& flags);

}  // namespace lockstep::cli
