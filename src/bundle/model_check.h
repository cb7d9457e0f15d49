// Refuses a table of releases from which no deployer could make files that are safe and complete.
// Every deployer asks here first, so that what they write afterwards cannot go wrong.
#pragma once

#include <string_view>

#include "base/result.h"
#include "bundle/release.h"

namespace lockstep::bundle {

// What deployers call their own objects, next to those of the releases.
constexpr std::string_view reserved_name = "lockstep-bundle";

// Names that become folders and objects are DNS labels, and each is there once; addresses and
// versions are one line each; what a release needs comes before it.
Result<void> check_model(const BundleModel& model);

}  // namespace lockstep::bundle
