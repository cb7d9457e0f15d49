// A user's request on a page, and the writes that do it: the same as the commands pause, resume,
// retry, skip and rollout … make, with the user's name and reason recorded beside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "data/json.h"
#include "fleet/keys.h"
#include "kube/api.h"
#include "kube/self_review.h"
#include "objects/resource_type.h"
#include "rollout/command_rules.h"

namespace lockstep::operate {

enum class ActionTarget { pool, rollout, node };

struct Action {
  std::string verb;
  ActionTarget target = ActionTarget::pool;
  std::string name;    // of the rollout, the node, or the NVIDIADriver; a pool's may be empty
  std::string wave;    // of promote: which one is meant
  std::string reason;  // of a page never empty
  // Of promote: also past what the wave was to show. Of retry: whatever state the node is in.
  bool force = false;
};

// A page's: {"verb": "pause", "target": "pool", "name": "", "reason": "…"}; strict.
Result<Action> read_action(std::string_view body);

// The user's name, for what is written into the cluster, on one line and not too long.
std::string clean_line(std::string_view text, size_t most);

// The object that carries a pool's rules.
struct PolicyObject {
  ResourceType type;
  std::string name;
};

// `policies`: those of the pool, for an action on one. `object`: the rollout or node of an action
// on one; an action that would change nothing there is an error.
Result<std::vector<kube::Request>> requests_of(const Action& action, const kube::ClusterUser& user,
                                               Time now, const fleet::Keys& keys,
                                               const std::vector<PolicyObject>& policies,
                                               const Json& object);

}  // namespace lockstep::operate
