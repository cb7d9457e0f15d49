// What is seen during a bake, kept in one ConfigMap per wave: how long GPUs were busy on upgraded
// nodes and on those that are not, and what happened on them. The judge reads it from there, so
// that a controller that begins anew goes on where the last one was, and a person can judge it
// again.
#pragma once

#include <array>
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

// Of one GPU model, the GPUs of nodes that were busy when it was last looked: what happens until
// the next look is weighed by that. Work that an error has killed leaves its node idle at the end.
struct BusyGpus {
  // On nodes that had no incident before, one, two, and more than are compared.
  using BySide = std::array<int64_t, rollout::compared_incidents + 1>;
  BySide upgraded = {};
  BySide control = {};

  bool operator==(const BusyGpus&) const = default;
};

struct KeptBake {
  rollout::BakeRecord record;
  Time opened;  // of the wave
  Time until;   // up to when it was looked; not set: the bake has not begun
  // What each node that has reported had counted by then, and what of it was broken before.
  std::map<std::string, std::map<std::string, int64_t>> seen;
  std::map<std::string, BusyGpus> busy;  // by GPU model

  Json to_json(const ObjectKey& key, const std::string& rollout,
               const std::string& resource_version) const;
  // Nothing where it cannot be read, also of an earlier version of Lockstep: the bake begins again.
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
  int64_t gpus = 0;
};
using HealthMemory = std::unordered_map<std::string, ReadHealth>;
ReadHealth read_health(const std::shared_ptr<const Node>& node);

// How the nodes are before a wave's upgrade: what is broken then is not the new driver's doing.
void note_before(KeptBake& kept, const std::vector<BakeNode>& nodes,
                 HealthMemory* memory = nullptr);

// Adds what happened since it was last looked, so long ago by a clock that nobody sets. The first
// look only notes where the counts stand.
void look_at_bake(KeptBake& kept, const std::vector<BakeNode>& nodes, Time now, Duration passed,
                  HealthMemory* memory = nullptr);

// When it is to be looked again: after the interval, or when the bake may end.
Duration next_look(const KeptBake& kept, Duration interval);

// What a wave is asked for where its spec does not say: a tenth of what its upgraded nodes can
// give.
double usual_gpu_hours(const std::vector<BakeNode>& nodes, Duration duration);

// The bakes of the waves before, as one step each: what `before` has of its own, and what it was
// given itself. Nothing where that was a finding: a person went on all the same, for reasons that
// are not in it.
std::vector<rollout::BakeStep> earlier_steps(const KeptBake& before);

// What the analysis says of what was kept.
rollout::BakeView judge_bake(const KeptBake& kept);

}  // namespace lockstep::controller
