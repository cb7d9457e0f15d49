// Lockstep as its chart installs it, on a real control plane: the chart's objects, and a controller
// with the arguments of the Deployment and the rights of its account. There is no pod of it: the
// simulated nodes run no programs.
#pragma once

#include <map>
#include <string>

#include "real_cluster.h"

namespace lockstep::real {

// A user of this name has the rights of the controller's service account, and no others.
inline const std::string installed_account =
    "system:serviceaccount:lockstep-system:lockstep-controller";

// `lockstep install`, with these flags too. Throws when it fails.
void install_chart(RealCluster& cluster, const std::string& flags = {});

// The control plane must know the account as a user. `replaced`: what an argument of the Deployment
// says of files in the pod, and where they are on this machine.
commands::Child& start_installed_controller(
    RealCluster& cluster, const std::map<std::string, std::string>& replaced = {});

}  // namespace lockstep::real
