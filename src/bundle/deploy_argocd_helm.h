// The argocd-helm deployer: a chart that makes the Applications of the argocd deployer, with the
// Git repository as a value that is set when it is installed.
#pragma once

#include "base/result.h"
#include "bundle/release.h"

namespace lockstep::bundle {

Result<BundleFiles> deploy_with_argocd_helm(const BundleModel& model);

}  // namespace lockstep::bundle
