#include "controller/baseline_keeper.h"

#include <map>

#include <fmt/format.h>

namespace lockstep::controller {

namespace {

// Those that were written down for the wave and are there, by name; at most as many as are kept.
struct WaveNodes {
  std::map<std::string, const rollout::RolloutNode*> there;
  int64_t left_out = 0;
};

WaveNodes nodes_of(const rollout::RolloutView& view, size_t wave) {
  std::map<std::string, const rollout::RolloutNode*> known;
  for (const rollout::RolloutNode& node : view.nodes) known[node.name()] = &node;
  WaveNodes nodes;
  if (wave >= view.recorded.size() || !view.recorded[wave]) return nodes;
  for (const std::string& name : view.recorded[wave]->nodes) {
    auto at = known.find(name);
    if (at == known.end()) continue;
    if (nodes.there.size() < rollout::most_baseline_nodes) {
      nodes.there.emplace(name, at->second);
    } else {
      ++nodes.left_out;
    }
  }
  return nodes;
}

// Why nothing can be measured there now; empty: it can.
std::string obstacle_on(const rollout::RolloutNode& node) {
  if (node.skipped) return "the node was skipped";
  if (!node.node->ready()) return "the node was not ready";
  return {};
}

}  // namespace

std::string baseline_name(const std::string& rollout, size_t wave) {
  return fmt::format("lockstep-baseline-{}-{}", rollout, wave);
}

Json baseline_to_json(const ObjectKey& key, const GenericObject& rollout,
                      const rollout::WaveBaseline& baseline, const std::string& resource_version) {
  const std::string name = rollout.meta.name.str();
  JsonObject owner{{"apiVersion", fleet::driver_rollouts.api_version()},
                   {"kind", fleet::driver_rollouts.kind},
                   {"name", name},
                   {"uid", rollout.meta.uid.view()}};
  JsonObject metadata{{"name", key.name},
                      {"namespace", key.ns},
                      {"labels", JsonObject{{"app.kubernetes.io/managed-by", "lockstep"},
                                            {fleet::rollout_label, name}}},
                      {"ownerReferences", JsonArray{std::move(owner)}}};
  if (!resource_version.empty()) metadata["resourceVersion"] = resource_version;
  return JsonObject{{"apiVersion", "v1"},
                    {"kind", "ConfigMap"},
                    {"metadata", std::move(metadata)},
                    {"data", JsonObject{{"baseline", baseline.text()}}}};
}

std::optional<rollout::WaveBaseline> baseline_from(const ConfigMap& map) {
  auto baseline = rollout::WaveBaseline::parse(map.data.get("baseline"));
  return baseline ? std::optional(std::move(*baseline)) : std::nullopt;
}

GateRun baseline_run(const rollout::RolloutView& view, size_t wave) {
  GateRun run;
  run.is_baseline = true;
  run.rollout = view.name;
  run.revision = rollout::baseline_id(view);
  run.version = fleet::loaded_version(view.target.version);
  run.wave = wave;
  if (wave >= view.spec.waves.size()) return run;
  run.wave_name = view.spec.waves[wave].name;
  for (const rollout::GateSpec& gate : view.spec.waves[wave].gates) {
    if (rollout::is_compared(gate)) run.gates.push_back(gate);
  }
  for (const auto& [name, node] : nodes_of(view, wave).there) {
    if (!node->in_sync && obstacle_on(*node).empty()) run.nodes.push_back(name);
  }
  return run;
}

rollout::WaveBaseline collect_baseline(const rollout::RolloutView& view, size_t wave,
                                       const GateJobs::Measured& measured,
                                       const std::set<std::string>& in_use, Time now) {
  WaveNodes nodes = nodes_of(view, wave);
  rollout::WaveBaseline baseline;
  baseline.id = rollout::baseline_id(view);
  baseline.revision = rollout::revision_id(view.target);
  baseline.taken = now;
  baseline.left_out = nodes.left_out;
  for (const auto& [name, node] : nodes.there) {
    rollout::NodeBaseline& entry = baseline.nodes[name];
    entry.in_use = in_use.contains(name);
    // It runs the new driver already: a measurement before the upgrade is impossible.
    if (node->in_sync) continue;
    auto numbers = measured.find(name);
    if (numbers != measured.end()) {
      entry.gates = numbers->second;
      continue;
    }
    std::string why = obstacle_on(*node);
    if (why.empty()) why = "the node was not ready";
    for (const rollout::GateSpec& gate : view.spec.waves[wave].gates) {
      if (rollout::is_compared(gate)) entry.gates[gate.name] = rollout::no_numbers(why);
    }
  }
  return baseline;
}

}  // namespace lockstep::controller
