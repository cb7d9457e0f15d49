// The person behind a page: what a token of the cluster may do, and doing it with that token alone,
// so that the cluster's own rules and audit log count and ours do not.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "data/json.h"
#include "kube/api.h"
#include "operate/action.h"

namespace lockstep::dashboard {

using JsonCallback = std::function<void(Result<Json>)>;

// {"user": "…", "allowed": {"pool": true, "rollout": true, "node": false}}, by
// SelfSubjectAccessReview. The connection lives until the answer is there.
void find_access(std::shared_ptr<kube::Api> api, JsonCallback done);

// Does the action as this person; {"done": "…"} or why not.
void perform(std::shared_ptr<kube::Api> api, const operate::Action& action, Time now,
             const fleet::Keys& keys, std::vector<operate::PolicyObject> policies,
             JsonCallback done);

}  // namespace lockstep::dashboard
