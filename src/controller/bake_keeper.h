// What happens during a bake is seen here, and kept (view/kept_bake.h): how long GPUs were busy on
// upgraded nodes and on those that are not, and what happened on them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "rollout/bake_record.h"
#include "rollout/rollout_view.h"
#include "view/kept_bake.h"

namespace lockstep::controller {

using view::BusyGpus;
using view::KeptBake;
using view::ReadHealth;

// One side of the comparison, node by node.
struct BakeNode {
  std::shared_ptr<const Node> node;
  bool upgraded = false;
  bool busy = false;
  std::string version = {};                 // that is meant to run there; empty: not asked
  std::vector<std::string> published = {};  // the versions that its DRA plugins publish
};

using HealthMemory = std::unordered_map<std::string, ReadHealth>;

// How the nodes are before a wave's upgrade: what is broken then is not the new driver's doing.
void note_before(KeptBake& kept, const std::vector<BakeNode>& nodes,
                 HealthMemory* memory = nullptr);

// Adds what happened since the last call; `passed` is by a monotonic clock. The first call only
// records the counts.
void look_at_bake(KeptBake& kept, const std::vector<BakeNode>& nodes, Time now, Duration passed,
                  HealthMemory* memory = nullptr);

// When the bake is recorded again: after the interval, or when it may end.
Duration next_look(const KeptBake& kept, Duration interval);

// What a wave is asked for where its spec does not say: a tenth of what its upgraded nodes can
// give.
double usual_gpu_hours(const std::vector<BakeNode>& nodes, Duration duration);

// The bakes of earlier waves, as one step each: what `before` has of its own, and its own earlier
// steps. Nothing where that was a finding: a user continued all the same, for reasons that are not
// in it.
std::vector<rollout::BakeStep> earlier_steps(const KeptBake& before);

// What the analysis says of what was kept.
rollout::BakeView judge_bake(const KeptBake& kept);

}  // namespace lockstep::controller
