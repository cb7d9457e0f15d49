// The argocd deployer: one Application per release, and an Application of those Applications that
// Argo CD syncs wave by wave.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/release.h"

namespace lockstep::bundle {

Result<BundleFiles> deploy_with_argocd(const BundleModel& model);

// What differs between Applications that are written down and those that a chart makes.
struct ApplicationTexts {
  std::string values;          // of the release, as YAML
  std::string git_repository;  // of the bundle
  std::string git_revision;
  std::string git_path;  // of the release's folder there
  std::string project = "default";
};

ApplicationTexts application_texts(const BundleModel& model, size_t position);
JsonObject application(const BundleModel& model, size_t position, const ApplicationTexts& texts);

// The wave of every release: its place, or that of the release before when the next one must not
// wait for it.
std::vector<int> sync_waves(const BundleModel& model);

// For the README of both deployers: without it Argo CD does not wait between waves.
std::string application_health_notes();

}  // namespace lockstep::bundle
