// Running inside the cluster: the service account that Kubernetes mounts into every pod.
#pragma once

#include "base/result.h"
#include "kube/kubeconfig.h"
#include "world/files.h"

namespace lockstep::kube {

// Whether this seems to be a pod: the service's address is set and the token is there.
bool in_cluster_possible(const Environment& environment, const Files& files);

// The token's file is named, not read: it is replaced about every hour.
Result<Target> in_cluster_target(const Environment& environment, const Files& files);

}  // namespace lockstep::kube
