// The helmfile deployer: helmfile.yaml over the folders of the releases.
#pragma once

#include "base/result.h"
#include "bundle/release.h"

namespace lockstep::bundle {

Result<BundleFiles> deploy_with_helmfile(const BundleModel& model);

}  // namespace lockstep::bundle
