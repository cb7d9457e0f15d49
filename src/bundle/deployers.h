// The deployers by name, and what each makes of the table of releases.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/release.h"

namespace lockstep::bundle {

struct Deployer {
  std::string_view name;
  std::string_view about;  // one line for --help
  Result<BundleFiles> (*write)(const BundleModel& model);
  bool reads_git = false;  // the bundle's own charts, at model.git_repository
};

// helm, helmfile, flux, argocd, argocd-helm, in this order.
const std::vector<Deployer>& deployers();

// The error lists the known ones.
Result<const Deployer*> deployer_named(std::string_view name);

}  // namespace lockstep::bundle
