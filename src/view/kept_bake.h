// The observations of a wave's bake, as the controller keeps them in one ConfigMap per wave: a
// controller that restarts continues from them, and a user can repeat the analysis.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "objects/config_map.h"
#include "objects/node.h"
#include "rollout/bake_record.h"
#include "view/rollout_watch.h"

namespace lockstep::view {

// A node's own words of its GPUs: counts of events, as a JSON map. {"gpus": 8, "FatalXid": 2}
inline constexpr std::string_view health_annotation = "lockstep.dev/gpu-health";

// Of one GPU model, the GPUs of nodes that were busy at the last observation, which weigh what
// happens until the next. Work that an error has killed leaves its node idle at the end.
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
  Time until;   // the last observation; not set: the bake has not begun
  // What each node that has reported had counted by then, and what of it was broken before.
  std::map<std::string, std::map<std::string, int64_t>> seen;
  std::map<std::string, BusyGpus> busy;  // by GPU model

  Json to_json(const ObjectKey& key, const std::string& rollout,
               const std::string& resource_version) const;
  // Nothing where it cannot be read, also of an earlier version of Lockstep: the bake begins again.
  static std::optional<KeptBake> from_map(const ConfigMap& map);
};

std::string bake_name(const std::string& rollout, size_t wave);

// The bake of a wave, as far as it goes; nothing: it is missing or unreadable.
std::optional<KeptBake> kept_bake(const RolloutWatch& watch, const std::string& rollout,
                                  size_t wave);
// The result so far; nothing: the bake of the wave's present try has not begun.
std::optional<rollout::BakeVerdict> bake_so_far(const RolloutWatch& watch,
                                                const KnownRollout& rollout, size_t wave);

// What a node reported at the last observation, so that it is parsed once.
struct ReadHealth {
  std::shared_ptr<const Node> node;
  std::optional<std::map<std::string, int64_t>> counts;  // nothing: it says nothing
  int64_t gpus = 0;
};
ReadHealth read_health(const std::shared_ptr<const Node>& node);

}  // namespace lockstep::view
