// The helm deployer: deploy.sh, which installs the releases one after the other with Helm and
// kubectl, and undeploy.sh, which takes them away again.
#pragma once

#include "base/result.h"
#include "bundle/release.h"

namespace lockstep::bundle {

Result<BundleFiles> deploy_with_helm(const BundleModel& model);

}  // namespace lockstep::bundle
