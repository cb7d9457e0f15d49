// Our user as the cluster knows it: SelfSubjectReview, which every user may post.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/api.h"
#include "kube/sync_api.h"

namespace lockstep::kube {

struct ClusterUser {
  std::string name;
  std::vector<std::string> groups;
};

// Calls back with an error of kind not_found on clusters before 1.28, which do not say.
void find_identity(Api& api, std::function<void(Result<ClusterUser>)> done);
Result<ClusterUser> find_identity(SyncApi& api);

}  // namespace lockstep::kube
