// The part of deploy.sh that restarts pods which are older than their node's driver: such a pod
// still holds the library of a driver that is no longer loaded.
#pragma once

#include <string>

#include "bundle/release.h"

namespace lockstep::bundle {

// Bash functions, among them `after_release NAME`. They expect the variables kubectl, dry_run and
// poll_seconds. Empty when nothing is to be restarted after any release.
std::string restart_functions(const BundleModel& model);

}  // namespace lockstep::bundle
