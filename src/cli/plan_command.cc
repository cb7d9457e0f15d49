#include "cli/plan_command.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/exit_codes.h"
#include "cli/key_domain.h"
#include "cli/plan_waves.h"
#include "cli/status_command.h"
#include "controller/matrix_log.h"
#include "upgrade/deciding.h"
#include "upgrade/evicting.h"
#include "upgrade/pod_names.h"
#include "upgrade/slots.h"

namespace lockstep::cli {

namespace {

using fleet::State;

bool needs_upgrade(const fleet::NodeView& view, const upgrade::Rules& rules, bool assume_change) {
  State state = fleet::state_of(*view.node, rules.keys);
  // What failed waits for a person, or for another version.
  if (state == State::failed) return assume_change;
  return assume_change || state == State::required || fleet::is_active(state) ||
         view.driver.is_out_of_sync() || fleet::is_requested(*view.node, rules.keys);
}

void look_at_pods(const controller::FleetWatch& watch, const fleet::NodeView& view,
                  const upgrade::Policy& policy, PlannedNode& node) {
  for (const auto& entry : view.pods) {
    const Pod& pod = *entry.pod;
    bool runs = pod.phase == PodPhase::running || pod.phase == PodPhase::pending;
    if (runs && policy.wait.pods.matches(pod.meta.labels)) {
      node.waited.push_back(upgrade::name_pod(pod));
    }
    upgrade::Verdict verdict = upgrade::judge_gpu_pod(entry, policy.pod_deletion);
    if (verdict.fate == upgrade::Fate::protected_) node.blocked.push_back(verdict.because);
    if (verdict.fate != upgrade::Fate::leaves) continue;
    node.moved.push_back(upgrade::name_pod(pod));
    watch.budgets.cache.for_each("namespace", pod.meta.ns, [&](const auto& budget) {
      if (budget->disruptions_allowed > 0 || !budget->selector.matches(pod.meta.labels)) return;
      node.blocked.push_back(fmt::format("{} may not be disrupted now (PodDisruptionBudget {})",
                                         upgrade::name_pod(pod), budget->meta.name.view()));
    });
  }
}

std::string why_not(const controller::FleetWatch& watch, const fleet::NodeView& view) {
  // Limits only say when, not whether.
  upgrade::PoolView pool = watch.pool(view.pool);
  pool.counts.active = 0;
  pool.counts.unavailable = 0;
  if (pool.frozen) return pool.frozen->text;
  if (auto held = upgrade::held_back(view, pool, watch.rules())) {
    return fmt::format("{}: {}", held->name, held->text);
  }
  return {};
}

PlannedNode plan_node(const controller::FleetWatch& watch, const fleet::NodeView& view,
                      bool assume_change) {
  const upgrade::Policy& policy = watch.policy(view.pool);
  PlannedNode node;
  node.name = std::string(view.name());
  node.pool = view.pool;
  node.state = fleet::state_of(*view.node, watch.rules().keys);
  bool under_way = fleet::is_active(node.state);
  node.restart_only = !assume_change && !under_way && upgrade::is_restart_only(view, watch.rules());
  node.stays_cordoned =
      view.node->unschedulable && fleet::was_cordoned_by_others(*view.node, watch.rules().keys);
  if (!node.restart_only) look_at_pods(watch, view, policy, node);
  if (!under_way) node.held = why_not(watch, view);
  return node;
}

int64_t parallel_of(const upgrade::Policy& policy, const fleet::PoolCounts& counts) {
  upgrade::Limits limits = upgrade::limits_of(policy, counts.total);
  int64_t parallel =
      limits.parallel == 0 ? limits.unavailable : std::min(limits.parallel, limits.unavailable);
  return std::max<int64_t>(1, parallel);
}

std::string counted(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void print_plan(const Plan& plan, Duration node_time) {
  if (!plan.failed.empty()) {
    fmt::print("{} failed and waits for lockstep retry: {}\n",
               counted(static_cast<int64_t>(plan.failed.size()), "node"),
               upgrade::name_some(plan.failed, 3));
  }
  if (plan.nodes.empty()) {
    fmt::print(
        "Nothing to upgrade: every driver pod is of the newest revision.\n"
        "--assume-change shows what a new driver version would do.\n");
    return;
  }
  size_t width = 4;
  for (const auto& node : plan.nodes) width = std::max(width, node.name.size());
  fmt::print("{:<5} {:<{}}  {:<22} {}\n", "TURN", "NODE", width, "STATE", "WHAT HAPPENS");
  int64_t moved = 0;
  int64_t blocked = 0;
  for (const auto& node : plan.nodes) {
    std::vector<std::string> notes;
    if (!node.held.empty()) notes.push_back("waits: " + node.held);
    if (node.restart_only) notes.push_back("restarts the driver pod only");
    if (!node.waited.empty()) notes.push_back("waits for " + upgrade::name_some(node.waited, 3));
    if (!node.moved.empty()) notes.push_back("moves " + upgrade::name_some(node.moved, 3));
    if (node.stays_cordoned) notes.push_back("stays cordoned");
    if (notes.empty()) {
      notes.push_back(fleet::is_active(node.state) ? "is under way" : "nobody is moved");
    }
    fmt::print("{:<5} {:<{}}  {:<22} {}\n", node.batch == 0 ? "-" : std::to_string(node.batch),
               node.name, width, fleet::display_name(node.state), join(notes, "; "));
    for (const auto& text : node.blocked)
      fmt::print("      {:<{}}  BLOCKED: {}\n", "", width, text);
    moved += static_cast<int64_t>(node.moved.size());
    blocked += node.blocked.empty() ? 0 : 1;
  }
  fmt::print("\n{} in {} of up to {}; {} moved; {} blocked.\n",
             counted(static_cast<int64_t>(plan.nodes.size()), "node"),
             counted(plan.batches, "turn"), plan.parallel,
             counted(moved, "pod") + (moved == 1 ? " is" : " are"),
             counted(blocked, "node") + (blocked == 1 ? " is" : " are"));
  fmt::print("About {} at {} a node (--node-minutes).\n", human_duration(plan.duration),
             format_duration(node_time));
}

}  // namespace

Json plan_to_json(const Plan& plan) {
  JsonArray nodes;
  auto texts = [](const std::vector<std::string>& lines) {
    JsonArray array;
    for (const auto& line : lines) array.emplace_back(line);
    return array;
  };
  for (const auto& node : plan.nodes) {
    JsonObject object{{"name", node.name},
                      {"pool", node.pool},
                      {"state", fleet::display_name(node.state)},
                      {"turn", node.batch},
                      {"restartOnly", node.restart_only},
                      {"moved", texts(node.moved)},
                      {"waitedFor", texts(node.waited)},
                      {"blocked", texts(node.blocked)}};
    if (!node.held.empty()) object["held"] = node.held;
    nodes.push_back(std::move(object));
  }
  return JsonObject{{"turns", plan.batches},
                    {"parallel", plan.parallel},
                    {"seconds", in_seconds(plan.duration)},
                    {"nodes", std::move(nodes)},
                    {"failed", texts(plan.failed)}};
}

Plan make_plan(controller::FleetWatch& watch, bool assume_change, Duration node_time) {
  watch.count_changed();
  Plan plan;
  struct Ordered {
    fleet::Waiting place;
    PlannedNode node;
  };
  std::map<std::string, std::vector<Ordered>> pools;
  for (const auto& name : watch.nodes()) {
    auto view = watch.view(name);
    if (!view) continue;
    if (!needs_upgrade(*view, watch.rules(), assume_change)) {
      bool failed = fleet::state_of(*view->node, watch.rules().keys) == State::failed;
      if (failed) plan.failed.push_back(name);
      continue;
    }
    PlannedNode node = plan_node(watch, *view, assume_change);
    int gpu_pods = 0;
    for (const auto& entry : view->pods) {
      gpu_pods += entry.uses_gpu && !entry.pod->is_finished() ? 1 : 0;
    }
    // Those under way come first.
    if (fleet::is_active(node.state)) gpu_pods = -1;
    pools[view->pool].push_back({{gpu_pods, name}, std::move(node)});
  }
  for (auto& [pool, nodes] : pools) {
    std::sort(nodes.begin(), nodes.end(),
              [](const Ordered& a, const Ordered& b) { return a.place < b.place; });
    int64_t parallel = parallel_of(watch.policy(pool), watch.tally().counts(pool));
    int64_t place = 0;
    for (auto& entry : nodes) {
      if (entry.node.held.empty()) {
        entry.node.batch = static_cast<int>(place / parallel) + 1;
        ++place;
        plan.batches = std::max(plan.batches, entry.node.batch);
      }
      plan.nodes.push_back(std::move(entry.node));
    }
    plan.parallel = std::max(plan.parallel, parallel);
  }
  plan.duration = node_time * plan.batches;
  return plan;
}

int run_plan(const PlanFlags& flags) {
  ClusterFlags cluster = flags.cluster;
  auto session = open_in_key_domain(cluster, KeyUse::read, flags.output != "table");
  if (!session) return report(session.error());
  controller::FleetWatch watch(*(*session)->api, (*session)->loop, (*session)->random,
                               *(*session)->log, cluster.fleet());
  if (auto listed = wait_for_fleet(**session, watch); !listed) return report(listed.error());
  Plan plan = make_plan(watch, flags.assume_change, flags.node_time);
  // Waves are for the version that comes.
  Plan assumed = make_plan(watch, true, flags.node_time);
  controller::MatrixLogOptions git;
  git.environment = system_environment();
  git.entries = 1;
  controller::MatrixLog log((*session)->loop, std::move(git));
  auto read = [&](const rollout::MatrixPlace& place) -> Result<rollout::Matrix> {
    LOCKSTEP_TRY(rollout::MatrixReport found, log.read_now(place));
    return std::move(found.matrix);
  };
  std::vector<RolloutPlan> rollouts =
      plan_rollouts(watch, assumed, flags.node_time, flags.node_time_given, read);
  if (flags.output == "table") {
    print_plan(plan, flags.node_time);
    for (const RolloutPlan& rollout : rollouts) fmt::print("{}", rollout_plan_text(rollout));
  } else {
    Json document = plan_to_json(plan);
    JsonArray list;
    for (const RolloutPlan& rollout : rollouts) list.push_back(to_json(rollout));
    if (!list.empty()) document.as_object()["rollouts"] = std::move(list);
    print_document(document, flags.output);
  }
  return ExitCode::ok;
}

}  // namespace lockstep::cli
