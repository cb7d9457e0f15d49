// Checks of how drivers are brought to the nodes, and by which rules they are upgraded: the
// drivers' DaemonSets and what resembles them, NVIDIA's driver-manager in their pods, and the
// policies.
#pragma once

#include "doctor/check.h"
#include "doctor/cluster_view.h"

namespace lockstep::doctor {

// NVIDIA's k8s-driver-manager in its pods uncordons nodes in every reload of a driver.
bool manager_uncordons(const DaemonSet& driver_set);
// How to switch that off: moving pods is the upgrade controller's task.
std::string_view manager_fix();

Check check_driver_sets(const ClusterView& view);
Check check_driver_manager(const ClusterView& view);
// Labels of the driver, its validators, its clients or the operator in another namespace.
Check check_lookalikes(const ClusterView& view);
Check check_policies(const ClusterView& view);

}  // namespace lockstep::doctor
