#include "cli/plan_waves.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/status_text.h"
#include "rollout/membership.h"
#include "rollout/pace.h"
#include "rollout/rollout_matrix.h"
#include "upgrade/pod_names.h"
#include "upgrade/slots.h"

namespace lockstep::cli {

namespace {

constexpr std::string_view gpu_count_label = "nvidia.com/gpu.count";
constexpr size_t most_blocked = 5;

// How many of the wave's nodes are upgraded at a time.
int64_t parallel_in(const rollout::WaveSpec& wave, const upgrade::Policy& policy, int64_t total) {
  upgrade::Limits limits = upgrade::limits_of(policy, total);
  int64_t parallel = limits.unavailable;
  if (limits.parallel > 0) parallel = std::min(parallel, limits.parallel);
  if (wave.max_parallel.value_or(0) > 0) parallel = std::min(parallel, *wave.max_parallel);
  return std::max<int64_t>(1, parallel);
}

std::vector<rollout::Candidate> candidates_of(const controller::FleetWatch& watch,
                                              const controller::KnownRollout& known) {
  std::vector<rollout::Candidate> nodes;
  watch.nodes_watch.cache.for_each([&](const std::shared_ptr<const Node>& node) {
    auto facts = watch.driver_facts().find(node->meta.name.str());
    if (facts == watch.driver_facts().end()) return;
    std::string pool(node->meta.labels.get(fleet::driver_owner_label));
    if (!known.covers(pool, facts->second.set)) return;
    nodes.push_back({node->meta.name.str(), node->meta.labels});
  });
  return nodes;
}

void add_node(const controller::FleetWatch& watch, const std::string& name,
              const std::map<std::string, const PlannedNode*>& planned, Duration node_time,
              PlannedWave& wave) {
  auto node = watch.nodes_watch.cache.find(kube::KeyView("", name));
  if (!node) return;
  if (fleet::is_skipped(*node, watch.rules().keys)) {
    wave.left_out.push_back(name);
    return;
  }
  int64_t gpus = parse_integer(node->meta.labels.get(gpu_count_label)).value_or(0);
  wave.nodes.push_back(name);
  wave.gpus += gpus;
  wave.gpu_hours_lost += static_cast<double>(gpus) * in_seconds(node_time) / 3600;
  auto plan = planned.find(name);
  if (plan == planned.end()) return;
  wave.moved_pods += static_cast<int64_t>(plan->second->moved.size());
  for (const std::string& text : plan->second->blocked) {
    wave.blocked.push_back(fmt::format("{}: {}", name, text));
  }
}

std::string way_back_of(const rollout::RolloutSpec& spec) {
  if (spec.on_failure == rollout::OnFailure::hold) {
    return "none is asked for (onFailure: Hold); a failure holds for a person";
  }
  if (spec.matrix) return "a revert of the commit in " + spec.matrix->repository;
  if (spec.driver.kind == rollout::DriverKind::daemon_set) {
    return "none: the version of a DaemonSet is set by whoever made it";
  }
  return "the version is set back in the driver's own object";
}

// What the matrix says of the way back: whether a step of it leads only forward. A matrix that
// cannot be read from here refuses nothing: the controller reads it for itself.
void look_at_matrix(const rollout::RolloutSpec& spec, const ReadMatrix& read, RolloutPlan& plan) {
  if (!spec.matrix || spec.on_failure == rollout::OnFailure::hold) return;
  auto matrix = read(*spec.matrix);
  if (!matrix) {
    plan.way_back += fmt::format("; not looked at from here: {}", matrix.error().text());
    return;
  }
  std::string_view canary = matrix->value(rollout::Slot::canary, "driver");
  std::string why = canary.empty() ? "" : rollout::one_way_step(*matrix, canary);
  if (!why.empty()) plan.refused.push_back("RollbackUnavailable: " + why);
}

std::vector<std::string> refusals_of(const controller::KnownRollout& known) {
  std::vector<std::string> refused = known.spec.problems;
  bool goes_back = known.spec.on_failure == rollout::OnFailure::roll_back;
  if (goes_back && !known.spec.matrix &&
      known.spec.driver.kind == rollout::DriverKind::daemon_set) {
    refused.emplace_back(
        "RollbackUnavailable: the version of a DaemonSet is set by whoever made it");
  }
  if (goes_back && !known.status.stable.is_set()) {
    refused.emplace_back(
        "RollbackUnavailable: the driver that the fleet runs is not written down yet (is a "
        "controller "
        "running?)");
  }
  if (goes_back && !known.spec.matrix && known.status.stable.is_set() &&
      known.spec.driver.kind != rollout::DriverKind::daemon_set && !known.status.stable.fields) {
    refused.emplace_back(
        "RollbackUnavailable: version, image and repository of the driver's object are not "
        "recorded");
  }
  bool is_waiting =
      known.status.phase == rollout::Phase::pending || rollout::is_over(known.status.phase);
  bool says_why = known.status.reason == "RollbackUnavailable" ||
                  known.status.reason == "AnotherRollout" || known.status.reason == "InvalidSpec";
  if (is_waiting && says_why && refused.empty()) {
    refused.push_back(fmt::format("{}: {}", known.status.reason, known.status.message));
  }
  return refused;
}

}  // namespace

std::vector<RolloutPlan> plan_rollouts(controller::FleetWatch& watch, const Plan& assumed,
                                       Duration node_time, bool is_given, const ReadMatrix& read) {
  std::map<std::string, const PlannedNode*> planned;
  for (const PlannedNode& node : assumed.nodes) planned[node.name] = &node;
  std::vector<RolloutPlan> plans;
  for (const auto& [name, known] : watch.rollouts.all()) {
    RolloutPlan plan;
    plan.rollout = name;
    plan.phase = std::string(to_string(known.status.phase));
    plan.refused = refusals_of(known);
    plan.way_back = way_back_of(known.spec);
    look_at_matrix(known.spec, read, plan);
    std::vector<rollout::Candidate> nodes = candidates_of(watch, known);
    std::string pool =
        known.spec.driver.kind == rollout::DriverKind::nvidia_driver ? known.spec.driver.name : "";
    const auto total = static_cast<int64_t>(nodes.size());
    const auto waves = rollout::choose_waves(known.spec, std::move(nodes));
    auto turns_of = [&](size_t i, int64_t in_wave) {
      int64_t parallel = parallel_in(known.spec.waves[i], watch.policy(pool), total);
      return (in_wave + parallel - 1) / parallel;
    };
    auto turns_before = [&](const std::string& wave) -> int64_t {
      for (size_t i = 0; i < known.status.waves.size() && i < known.spec.waves.size(); ++i) {
        if (known.spec.waves[i].name == wave) return turns_of(i, known.status.waves[i].nodes);
      }
      return 0;
    };
    auto learned =
        is_given ? std::nullopt : rollout::node_time_by_history(known.status.history, turns_before);
    plan.node_time = learned.value_or(node_time);
    plan.from_history = learned.has_value();
    for (size_t i = 0; i < waves.size() && i < known.spec.waves.size(); ++i) {
      const rollout::WaveSpec& spec = known.spec.waves[i];
      PlannedWave wave;
      wave.name = spec.name;
      wave.selection = spec.nodes.text();
      wave.needs_approval = spec.needs_approval;
      for (const rollout::GateSpec& gate : spec.gates) wave.gates.push_back(gate.name);
      for (const std::string& node : waves[i]) add_node(watch, node, planned, plan.node_time, wave);
      wave.upgrade = plan.node_time * turns_of(i, static_cast<int64_t>(wave.nodes.size()));
      if (spec.bake) wave.bake = spec.bake->duration;
      plan.waves.push_back(std::move(wave));
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

std::string rollout_plan_text(const RolloutPlan& plan) {
  std::string text = fmt::format("\nRollout {} ({})\n", plan.rollout, plan.phase);
  for (const std::string& why : plan.refused) text += fmt::format("  WOULD NOT BEGIN: {}\n", why);
  text += fmt::format("  way back: {}\n", plan.way_back);
  Duration all{0};
  for (const PlannedWave& wave : plan.waves) {
    all += wave.upgrade + wave.bake;
    text += fmt::format("  wave {} ({}): {}, {} GPUs: {}\n", wave.name, wave.selection,
                        upgrade::counted(wave.nodes.size(), "node"), wave.gpus,
                        wave.nodes.empty() ? "-" : upgrade::name_some(wave.nodes, 5));
    text += fmt::format("    moves {}; {:.1f} GPU-hours lost; about {}{}{}{}\n",
                        upgrade::counted(static_cast<size_t>(wave.moved_pods), "pod"),
                        wave.gpu_hours_lost, human_duration(wave.upgrade),
                        wave.gates.empty() ? "" : ", gates " + join(wave.gates, ", "),
                        wave.bake > Duration(0) ? ", bake " + format_duration(wave.bake) : "",
                        wave.needs_approval ? ", then an approval" : "");
    if (!wave.left_out.empty()) {
      text += fmt::format("    left out (skipped): {}\n", upgrade::name_some(wave.left_out, 5));
    }
    for (size_t i = 0; i < std::min(wave.blocked.size(), most_blocked); ++i) {
      text += fmt::format("    BLOCKED: {}\n", wave.blocked[i]);
    }
    if (wave.blocked.size() > most_blocked) {
      text += fmt::format("    and {} more are blocked\n", wave.blocked.size() - most_blocked);
    }
  }
  return text +
         fmt::format("  all together about {}, without approvals and windows, at {} a node ({})\n",
                     human_duration(all), human_duration(plan.node_time),
                     plan.from_history ? "as in its waves before" : "--node-minutes");
}

Json to_json(const RolloutPlan& plan) {
  auto texts = [](const std::vector<std::string>& lines) {
    JsonArray array;
    for (const std::string& line : lines) array.emplace_back(line);
    return array;
  };
  JsonArray waves;
  for (const PlannedWave& wave : plan.waves) {
    waves.push_back(JsonObject{{"name", wave.name},
                               {"selection", wave.selection},
                               {"nodes", texts(wave.nodes)},
                               {"leftOut", texts(wave.left_out)},
                               {"gpus", wave.gpus},
                               {"movedPods", wave.moved_pods},
                               {"blocked", texts(wave.blocked)},
                               {"gates", texts(wave.gates)},
                               {"gpuHoursLost", wave.gpu_hours_lost},
                               {"upgradeSeconds", in_seconds(wave.upgrade)},
                               {"bakeSeconds", in_seconds(wave.bake)},
                               {"needsApproval", wave.needs_approval}});
  }
  return JsonObject{{"rollout", plan.rollout},
                    {"phase", plan.phase},
                    {"refused", texts(plan.refused)},
                    {"wayBack", plan.way_back},
                    {"nodeSeconds", in_seconds(plan.node_time)},
                    {"fromHistory", plan.from_history},
                    {"waves", std::move(waves)}};
}

}  // namespace lockstep::cli
