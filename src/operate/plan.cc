#include "operate/plan.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "rollout/pace.h"
#include "upgrade/slots.h"

namespace lockstep::operate {

namespace {

using rollout::PlannedNode;
using rollout::PlannedRollout;
using rollout::PlannedWave;

// In how many turns a wave was upgraded, by the limits of its pool.
int64_t turns_of(const rollout::RolloutView& view, const upgrade::Policy& policy, int64_t total,
                 const std::string& wave) {
  const auto& waves = view.status.waves;
  for (size_t i = 0; i < waves.size() && i < view.spec.waves.size(); ++i) {
    if (waves[i].name != wave) continue;
    upgrade::Limits limits = upgrade::limits_of(policy, total);
    int64_t parallel = limits.unavailable;
    if (limits.parallel > 0) parallel = std::min(parallel, limits.parallel);
    const int64_t own = view.spec.waves[i].max_parallel.value_or(0);
    if (own > 0) parallel = std::min(parallel, own);
    parallel = std::max<int64_t>(1, parallel);
    return (waves[i].nodes + parallel - 1) / parallel;
  }
  return 0;
}

void learn_pace(const rollout::Snapshot& snapshot, const PlanRequest& asked, PlanAnswer& answer) {
  answer.pace.node = asked.node_time;
  for (const auto& [name, rollout] : snapshot.rollouts) {
    const auto& history = rollout.view.status.history;
    if (auto gates = rollout::gates_time_by_history(history)) answer.pace.gates = *gates;
    auto pool = std::find_if(snapshot.pools.begin(), snapshot.pools.end(),
                             [&](const auto& each) { return each.second.rollout == name; });
    if (asked.node_time_given || pool == snapshot.pools.end()) continue;
    const auto total =
        std::count_if(snapshot.nodes.begin(), snapshot.nodes.end(),
                      [&](const auto& node) { return node.view.pool == pool->first; });
    auto node = rollout::node_time_by_history(history, [&](const std::string& wave) {
      return turns_of(rollout.view, pool->second.policy, total, wave);
    });
    if (!node) continue;
    answer.pace.node = *node;
    answer.from_history = true;
  }
}

Json json_of(const std::vector<std::string>& lines) {
  JsonArray array;
  for (const auto& line : lines) array.emplace_back(line);
  return array;
}

Json whole_json_of(const fleet::Reason& reason) {
  return JsonObject{{"name", reason.name.view()}, {"text", reason.text}, {"remedy", reason.remedy}};
}

Json json_of(const std::vector<fleet::Reason>& reasons) {
  JsonArray array;
  for (const auto& reason : reasons) array.push_back(whole_json_of(reason));
  return array;
}

void put(JsonObject& object, std::string_view key, const std::optional<Duration>& value) {
  if (value) object[key] = in_seconds(*value);
}

Json json_of(const PlannedNode& node) {
  JsonObject object{{"name", node.name},
                    {"pool", node.pool},
                    {"state", fleet::display_name(node.state)},
                    {"outcome", to_string(node.outcome)},
                    {"gpus", node.gpus},
                    {"jobs", node.jobs},
                    {"restartOnly", node.restart_only},
                    {"staysCordoned", node.stays_cordoned},
                    {"moved", json_of(node.moved)},
                    {"waitedFor", json_of(node.waited)},
                    {"waitsUnlimited", node.waits_unlimited},
                    {"blocked", json_of(node.blocked)}};
  if (!node.rollout.empty()) object["rollout"] = node.rollout;
  if (!node.wave.empty()) object["wave"] = node.wave;
  if (!node.reason.name.empty()) object["reason"] = whole_json_of(node.reason);
  put(object, "startSeconds", node.start);
  put(object, "endSeconds", node.end);
  return object;
}

Json json_of(const PlannedRollout& rollout) {
  JsonArray waves;
  for (const PlannedWave& wave : rollout.waves) {
    JsonObject object{{"name", wave.name},
                      {"selection", wave.selection},
                      {"nodes", json_of(wave.nodes)},
                      {"gates", json_of(wave.gates)},
                      {"gpus", wave.gpus},
                      {"movedPods", wave.moved_pods},
                      {"jobs", wave.jobs},
                      {"blockedNodes", wave.blocked_nodes},
                      {"gpuHoursLost", wave.gpu_hours_lost},
                      {"needsApproval", wave.needs_approval}};
    put(object, "opensSeconds", wave.opens);
    put(object, "upgradedSeconds", wave.upgraded);
    put(object, "passesSeconds", wave.passes);
    waves.push_back(std::move(object));
  }
  return JsonObject{{"name", rollout.name},
                    {"phase", rollout.phase},
                    {"from", rollout.from},
                    {"to", rollout.to},
                    {"rollback", rollout.rollback},
                    {"refused", json_of(rollout.refused)},
                    {"excluded", json_of(rollout.excluded)},
                    {"endPhase", to_string(rollout.end_phase)},
                    {"end", whole_json_of(rollout.end)},
                    {"waves", std::move(waves)}};
}

}  // namespace

PlanAnswer make_plan(view::FleetWatch& watch, Time now, const PlanRequest& asked,
                     const ReadMatrix& matrix) {
  PlanAnswer answer;
  watch.count_changed();
  rollout::Snapshot snapshot = plan_snapshot(watch, now, matrix);
  learn_pace(snapshot, asked, answer);
  if (asked.assume_change) rollout::assume_change(snapshot);
  answer.plan = rollout::run_forward(std::move(snapshot), answer.pace);
  return answer;
}

Json to_json(const PlanAnswer& answer) {
  const rollout::Plan& plan = answer.plan;
  JsonArray nodes;
  for (const PlannedNode& node : plan.nodes) nodes.push_back(json_of(node));
  JsonArray rollouts;
  for (const PlannedRollout& rollout : plan.rollouts) rollouts.push_back(json_of(rollout));
  JsonArray events;
  for (const auto& event : plan.events) {
    events.push_back(JsonObject{{"seconds", in_seconds(event.at)},
                                {"at", format_rfc3339(plan.now + event.at)},
                                {"rollout", event.rollout},
                                {"wave", event.wave},
                                {"text", event.text}});
  }
  return JsonObject{{"at", format_rfc3339(plan.now)},
                    {"seconds", in_seconds(plan.duration)},
                    {"mostAtOnce", plan.most_at_once},
                    {"isCut", plan.is_cut},
                    {"nodeSeconds", in_seconds(answer.pace.node)},
                    {"fromHistory", answer.from_history},
                    {"refused", json_of(plan.refused)},
                    {"nodes", std::move(nodes)},
                    {"failed", json_of(plan.failed)},
                    {"rollouts", std::move(rollouts)},
                    {"events", std::move(events)}};
}

}  // namespace lockstep::operate
