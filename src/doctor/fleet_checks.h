// Checks of what upgrades leave behind: controllers, cordons, labels, plugins, claims,
// versions.
#pragma once

#include "doctor/check.h"
#include "doctor/cluster_view.h"

namespace lockstep::doctor {

Check check_conflicting_controllers(const ClusterView& view);
Check check_controller(const ClusterView& view);
Check check_cordons(const ClusterView& view);
Check check_labels(const ClusterView& view);
Check check_plugins(const ClusterView& view);
Check check_unknown_plugins(const ClusterView& view);
Check check_claims(const ClusterView& view);
Check check_versions(const ClusterView& view);

}  // namespace lockstep::doctor
