// What a bundle deploys: one release per chart, in order. Every deployer writes its files from this
// table and from nothing else, so that all of them deploy the same thing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bundle/catalogue.h"
#include "bundle/resolve.h"
#include "data/json.h"

namespace lockstep::bundle {

enum class ReleaseKind {
  upstream,   // a chart of a repository
  local,      // a chart whose templates the bundle holds
  kustomize,  // no chart: manifests built by kustomize
};

struct Release {
  std::string name;  // "gpu-operator", "gpu-operator-post"
  std::string component;
  std::string display_name;
  std::string ns;
  ReleaseKind kind = ReleaseKind::upstream;

  // upstream
  std::string repository;  // "https://…", or "oci://…" to which the chart's name is added
  std::string chart;
  std::string version;

  // local
  std::string chart_version = "0.1.0";
  FileMap templates;  // by base name, as Helm will render them

  // kustomize
  std::string source;  // a Git URL
  std::string path;
  std::string tag;

  JsonObject values;
  std::vector<std::string> needs;  // releases that come before, by name

  // Whether the next release waits until this one's objects are ready, for how long at most, and
  // whether for its Jobs too. Hooks are waited for in any case, within the same limit.
  bool wait = true;
  bool wait_for_jobs = false;
  int64_t timeout_seconds = 600;
};

// Restart, in deploy.sh, of a component's pods that are older than their node's driver.
struct GuardedRestart {
  std::string release;           // after which it is made
  std::string plugin_namespace;  // of the pods that may be restarted
  std::string plugin_selector;   // "app=a,part=b"
  std::string driver_namespace;
  std::string driver_selector;
  int64_t driver_seconds = 1200;  // to wait for the driver
  int64_t plugin_seconds = 300;   // to wait for the restarted pods
};

// Everything that a deployer may know.
struct BundleModel {
  ResolvedRecipe recipe;          // without what is disabled
  std::vector<Release> releases;  // in the order in which they are deployed
  std::vector<GuardedRestart> restarts;
  // Where Argo CD and Flux will find the bundle's own charts; empty: the files say what to fill in.
  std::string git_repository;
  std::string git_revision;  // empty: HEAD for Argo CD, the branch main for Flux
  std::string git_path;      // of the bundle inside the repository
};

// "007-gpu-operator": releases are numbered from 001 in their order.
std::string release_folder(size_t position, const Release& release);

struct BundleFile {
  std::string content;
  bool executable = false;

  bool operator==(const BundleFile&) const = default;
};

// By path from the bundle's root.
using BundleFiles = std::map<std::string, BundleFile, std::less<>>;

}  // namespace lockstep::bundle
