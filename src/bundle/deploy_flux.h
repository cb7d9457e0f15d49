// The flux deployer: a HelmRelease per release, which Flux installs in the order of dependsOn, and
// the sources of their charts.
#pragma once

#include "base/result.h"
#include "bundle/release.h"

namespace lockstep::bundle {

Result<BundleFiles> deploy_with_flux(const BundleModel& model);

}  // namespace lockstep::bundle
