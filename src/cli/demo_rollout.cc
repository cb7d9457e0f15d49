#include "cli/demo_rollout.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "fleet/keys.h"

namespace lockstep::cli {

namespace {

constexpr const char* canary_label = "gpu-canary";
constexpr int nodes_per_canary = 12;
// As long on screen as users like to watch it, at the usual speed.
constexpr double bake_seconds = 150;

}  // namespace

void label_canary(const DemoFlags& flags, sim::FleetOptions& fleet) {
  int left = std::max(1, flags.nodes / nodes_per_canary);
  for (int i = 0; i < flags.nodes && left > 0; ++i) {
    if (i + 1 == flags.failing && flags.nodes > 1) continue;
    fleet.node_labels[sim::node_name(i)][canary_label] = "true";
    --left;
  }
}

Duration demo_bake(const DemoFlags& flags) {
  auto length = seconds(static_cast<int64_t>(std::lround(bake_seconds / flags.speed)));
  length = std::clamp<Duration>(length, seconds(1), seconds(60));
  // The bad driver must have time to show itself.
  return flags.bad_driver ? length + seconds(60) : length;
}

Json demo_rollout(const DemoFlags& flags, const std::string& repository) {
  JsonObject canary{{"name", "canary"},
                    {"nodes", JsonObject{{"matchLabels", JsonObject{{canary_label, "true"}}}}},
                    {"gates", JsonArray{"driver", "training", "inference"}},
                    {"bake", JsonObject{{"duration", format_duration(demo_bake(flags))}}}};
  JsonObject rest{{"name", "rest"}, {"nodes", JsonObject{{"rest", true}}}};
  JsonObject spec{{"driver", JsonObject{{"kind", "ClusterPolicy"}, {"name", "cluster-policy"}}},
                  {"waves", JsonArray{std::move(canary), std::move(rest)}}};
  if (!repository.empty()) spec["matrix"] = JsonObject{{"repo", repository}};
  return JsonObject{{"apiVersion", fleet::driver_rollouts.api_version()},
                    {"kind", fleet::driver_rollouts.kind},
                    {"metadata", JsonObject{{"name", demo_rollout_name}}},
                    {"spec", std::move(spec)}};
}

sim::EventRates demo_rates(const DemoFlags& flags) {
  // About one a second on a busy node of eight GPUs.
  constexpr double many = 450;
  if (!flags.bad_driver) return {};
  return {{flags.to, many}};
}

const view::KnownRollout* find_rollout(const view::FleetWatch& watch) {
  const auto& all = watch.rollouts().all();
  auto at = all.find(std::string(demo_rollout_name));
  return at == all.end() ? nullptr : &at->second;
}

}  // namespace lockstep::cli
