// The rights that the chart gives the DRA plugin, in a real cluster, and a way to log in with
// them as the plugin's pod on one node would.
#pragma once

#include <string>

#include "real_cluster.h"

namespace lockstep::real {

// Applies what the chart has for the plugin, its DaemonSet aside, and the chart's DeviceClass; the
// path of a kubeconfig of its service account, bound to the node, which is there. Throws.
std::string log_in_as_plugin(RealCluster& cluster, const std::string& node);

// The kubeconfig of a service account with a token that is bound to the node, as a pod there has.
std::string log_in_on_node(RealCluster& cluster, const ObjectKey& account, const std::string& node);

}  // namespace lockstep::real
