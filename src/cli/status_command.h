// `lockstep status` and `lockstep why`: what is happening, and why this node waits.
#pragma once

#include <string>

#include "cli/cluster_session.h"

namespace lockstep::cli {

struct StatusFlags {
  ClusterFlags cluster;
  bool watch = false;
  bool all = false;
  std::string output = "table";  // or json, yaml
};
int run_status(const StatusFlags& flags);

struct WhyFlags {
  ClusterFlags cluster;
  std::string node;
  std::string output = "table";
};
int run_why(const WhyFlags& flags);

// As -o says.
void print_document(const Json& document, const std::string& output);

}  // namespace lockstep::cli
