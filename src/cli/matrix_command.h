// `lockstep matrix show|check|set|promote|revert`: the version matrix in Git.
#pragma once

#include <string>
#include <vector>

#include "cli/cluster_session.h"

namespace lockstep::cli {

struct MatrixPlace {
  std::string repository = ".";
  std::string branch;  // empty: the current one
  std::string path = "gpu-version-matrix.yaml";
  std::string file;  // show and check: a file of this machine instead
};

// What is known of the cluster, besides the matrix.
struct MatrixFleet {
  std::vector<std::string> gpus;
  std::string kubernetes;
  bool mig = false;
  bool minor_compatibility = false;
  std::string rules;  // a file instead of the built-in recipes/compatibility.yaml
};

struct MatrixShowFlags {
  MatrixPlace place;
  std::string output = "table";
};
int run_matrix_show(const MatrixShowFlags& flags);

struct MatrixCheckFlags {
  MatrixPlace place;
  MatrixFleet fleet;
  bool strict = false;  // what is not known is a failure too
  std::string output = "table";
};
int run_matrix_check(const MatrixCheckFlags& flags);

struct MatrixChangeFlags {
  MatrixPlace place;
  MatrixFleet fleet;
  std::vector<std::string> assignments;  // set
  std::string slot = "canary";           // set
  std::string version;                   // revert
  std::string commit;                    // revert
  std::vector<std::string> evidence;
  std::string approved_by;
  std::string reason;
  std::string rollout;
  bool skip_check = false;
  bool dry_run = false;
  int tries = 5;
  bool apply = false;
  std::string apply_to;
  ClusterFlags cluster;
  std::string output = "table";
};
int run_matrix_set(const MatrixChangeFlags& flags);
int run_matrix_promote(const MatrixChangeFlags& flags);
int run_matrix_revert(const MatrixChangeFlags& flags);

}  // namespace lockstep::cli
