// `lockstep bundle`, `verify` and `check`: the files of a deployer, whether they are as they were
// written, and whether what must follow a version does.
#pragma once

#include <string>
#include <vector>

#include "cli/catalogue_session.h"

namespace lockstep::cli {

// A flag as it was given: settings of --set, --set-string and --set-json keep their order.
struct GivenSetting {
  std::string flag;
  std::string text;
};

struct BundleFlags {
  CatalogueFlags catalogue;
  CriteriaFlags criteria;
  std::string recipe;  // a file instead of criteria
  std::string deployer = "helm";
  std::string output;  // a folder, oci://registry/repository:tag, oci:///layout:tag
  std::vector<GivenSetting> settings;
  std::vector<std::string> system_node_selector;
  std::vector<std::string> system_node_toleration;
  std::vector<std::string> accelerated_node_selector;
  std::vector<std::string> accelerated_node_toleration;
  std::string workload_gate;
  std::vector<std::string> workload_selector;
  std::vector<std::string> no_derived;
  std::string repository;
  std::string revision;
  std::string path;
  std::string image_refs;  // file to write the pushed artifact's reference to
  bool plain_http = false;
  bool insecure_tls = false;
  bool dry_run = false;
};
int run_bundle(const BundleFlags& flags);

struct VerifyFlags {
  std::string folder;
  std::string output = "table";
};
int run_verify(const VerifyFlags& flags);

struct CheckFlags {
  CatalogueFlags catalogue;
  std::vector<std::string> paths;  // recipes, bundles, data directories; none: our own catalogue
  std::string output = "table";
};
int run_check(const CheckFlags& flags);

}  // namespace lockstep::cli
