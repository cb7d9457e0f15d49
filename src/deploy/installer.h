// Applies the chart's objects to a cluster, by server-side apply, and removes them again. As Helm
// does, it marks its own objects, and changes no object with another owner's mark.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "deploy/chart.h"
#include "kube/sync_api.h"

namespace lockstep::deploy {

struct InstallOptions {
  bool force = false;  // also objects of other owners
};

// What was done to one object: "created", "changed", "unchanged", "removed".
struct ObjectChange {
  std::string what;
  std::string object;  // "Deployment lockstep-system/lockstep-controller"
};

// Makes the namespace if it is missing, applies everything in its order, and removes what an
// earlier install of this release made and this one does not want. Before anything is written, all
// objects are checked: if one has another owner, nothing is done.
Result<std::vector<ObjectChange>> install(kube::SyncApi& api, const ReleaseName& release,
                                          const std::vector<Manifest>& manifests,
                                          const InstallOptions& options = {});

// Removes what install() made, the last first; the namespace stays.
Result<std::vector<ObjectChange>> uninstall(kube::SyncApi& api, const ReleaseName& release);

// Removes our skip labels from all nodes: with no controller left, they would stay. A user's own
// labels stay.
Result<std::vector<ObjectChange>> release_nodes(kube::SyncApi& api);

// Nodes whose upgrade is in progress: without a controller they would stay cordoned.
Result<std::vector<std::string>> nodes_in_flight(kube::SyncApi& api);

// Why a Deployment is not ready yet; empty: all its pods are available and up to date.
std::string missing_of_deployment(const Json& deployment);

}  // namespace lockstep::deploy
