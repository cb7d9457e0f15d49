#include "cli/plan_command.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "cli/exit_codes.h"
#include "cli/key_domain.h"
#include "cli/output.h"
#include "cli/status_command.h"
#include "controller/matrix_log.h"
#include "rollout/pace.h"
#include "upgrade/slots.h"

namespace lockstep::cli {

namespace {

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

void learn_pace(const rollout::Snapshot& snapshot, const PlanFlags& flags, PlanAnswer& answer) {
  answer.pace.node = flags.node_time;
  for (const auto& [name, rollout] : snapshot.rollouts) {
    const auto& history = rollout.view.status.history;
    if (auto gates = rollout::gates_time_by_history(history)) answer.pace.gates = *gates;
    auto pool = std::find_if(snapshot.pools.begin(), snapshot.pools.end(),
                             [&](const auto& each) { return each.second.rollout == name; });
    if (flags.node_time_given || pool == snapshot.pools.end()) continue;
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

}  // namespace

PlanAnswer make_plan(controller::FleetWatch& watch, Time now, const PlanFlags& flags,
                     const controller::ReadMatrix& matrix) {
  PlanAnswer answer;
  watch.count_changed();
  rollout::Snapshot snapshot = controller::plan_snapshot(watch, now, matrix);
  learn_pace(snapshot, flags, answer);
  if (flags.assume_change) rollout::assume_change(snapshot);
  answer.plan = rollout::run_forward(std::move(snapshot), answer.pace);
  return answer;
}

int run_plan(const PlanFlags& flags) {
  auto allowed = git::AllowedRepositories::read(flags.git_repositories, git::Local::accepted);
  if (!allowed) return report(allowed.error().at("--git-repository"));
  ClusterFlags cluster = flags.cluster;
  auto session = open_in_key_domain(cluster, KeyUse::read, flags.output != "table");
  if (!session) return report(session.error());
  controller::FleetWatch watch(*(*session)->api, (*session)->loop, (*session)->random,
                               *(*session)->log, cluster.fleet());
  if (auto listed = wait_for_fleet(**session, watch); !listed) return report(listed.error());
  controller::MatrixLogOptions git;
  git.environment = git::users_environment(system_environment());
  git.allowed = std::move(*allowed);
  git.entries = 1;
  controller::MatrixLog log((*session)->loop, std::move(git));
  auto read = [&](const rollout::MatrixPlace& place) -> Result<rollout::Matrix> {
    LOCKSTEP_TRY(rollout::MatrixReport found, log.read_now(place));
    return std::move(found.matrix);
  };
  const PlanAnswer answer = make_plan(watch, (*session)->loop.now(), flags, read);
  if (flags.output == "table") {
    print_text(plan_text(answer));
  } else {
    print_document(plan_to_json(answer), flags.output);
  }
  return ExitCode::ok;
}

}  // namespace lockstep::cli
