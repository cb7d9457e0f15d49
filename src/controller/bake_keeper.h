// What is seen during a bake, kept in one ConfigMap per wave: how long GPUs were busy on upgraded
// nodes and on those that are not, and what happened on them. The judge reads it from there, so
// that a controller that begins anew goes on where the last one was, and a person can judge it
// again.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/fleet_watch.h"
#include "rollout/bake_record.h"
#include "rollout/rollout_view.h"

namespace lockstep::controller {

// A node's own words of its GPUs: counts of events, as a JSON map. {"gpus": 8, "FatalXid": 2}
inline constexpr std::string_view health_annotation = "lockstep.dev/gpu-health";

struct KeptBake {
  rollout::BakeRecord record;
  Time until;  // up to when it was looked
  // What each node had counted by then, where that is more than nothing.
  std::map<std::string, std::map<std::string, int64_t>> seen;
  // Upgraded nodes that said nothing of their health when it was last looked.
  int64_t silent = 0;
  int64_t upgraded = 0;

  Json to_json(const ObjectKey& key, const std::string& rollout,
               const std::string& resource_version) const;
  static std::optional<KeptBake> from_map(const ConfigMap& map);
};

// One side of the comparison, node by node.
struct BakeNode {
  std::shared_ptr<const Node> node;
  bool upgraded = false;
  bool busy = false;
  std::string version = {};                 // that is meant to run there; empty: not asked
  std::vector<std::string> published = {};  // which versions its DRA plugins tell
};

std::string bake_name(const std::string& rollout, size_t wave);

// What a node said when it was last looked, so that its words are read once.
struct ReadHealth {
  std::shared_ptr<const Node> node;
  std::optional<std::map<std::string, int64_t>> counts;  // nothing: it says nothing
  bool has_events = false;                               // any of them is more than nothing
};
using HealthMemory = std::unordered_map<std::string, ReadHealth>;

// Adds what happened since it was last looked. The first look only notes where the counts stand.
void look_at_bake(KeptBake& kept, const std::vector<BakeNode>& nodes, Time now,
                  HealthMemory* memory = nullptr);

// The bakes of the waves before, as one step each: what `before` has of its own, and what it was
// given itself. Nothing where that was a finding: a person went on all the same, for reasons that
// are not in it.
std::vector<rollout::BakeStep> earlier_steps(const KeptBake& before);

// The judge's word on what was kept.
rollout::BakeView judge_bake(const KeptBake& kept, Time now);

}  // namespace lockstep::controller
