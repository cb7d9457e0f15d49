#include "sim/scenario/plan_check.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "operate/plan_snapshot.h"
#include "rollout/pace.h"
#include "view/rollout_watch.h"

namespace lockstep::sim {

namespace {

using rollout::PlannedEnd;
using rollout::PlannedNode;

// The operator takes a moment to make a revision, and no two nodes take equally long.
Duration tolerance(Duration planned) { return minutes(3) + planned / 5; }

class Comparison {
 public:
  Comparison(const rollout::Plan& plan, Cluster& cluster, const Witness& witness)
      : plan_(plan), cluster_(cluster), witness_(witness) {}

  void compare_starts() {
    const PlannedNode* latest = nullptr;  // of those that were to start before
    for (size_t i = 0; i < plan_.nodes.size();) {
      const PlannedNode& first = plan_.nodes[i];
      const PlannedNode* last = nullptr;
      for (; i < plan_.nodes.size() && plan_.nodes[i].start == first.start; ++i) {
        const PlannedNode& node = plan_.nodes[i];
        const std::optional<Duration> began = began_of(node);
        if (!began) continue;
        if (latest != nullptr && *began < *began_of(*latest)) {
          say("{} started before {}, and was planned after it", node.name, latest->name);
        }
        if (last == nullptr || *began > *began_of(*last)) last = &node;
      }
      if (last != nullptr) latest = last;
    }
  }

  void compare_ends(const std::map<std::string, fleet::Reason>& reasons) {
    const fleet::Keys keys;
    for (const PlannedNode& node : plan_.nodes) {
      Document object = cluster_.get(resource::nodes, {"", node.name});
      if (!object) continue;
      const fleet::State state =
          fleet::state_of(text_at(*object, "metadata", "labels", keys.state));
      auto at = reasons.find(node.name);
      const fleet::ReasonName reason = at == reasons.end() ? fleet::ReasonName() : at->second.name;
      const PlannedEnd end = state == fleet::State::done       ? PlannedEnd::done
                             : state == fleet::State::failed   ? PlannedEnd::failed
                             : state == fleet::State::required ? PlannedEnd::not_started
                                                               : PlannedEnd::stuck;
      if (end != node.outcome) {
        say("{} is {} ({}), and was planned as {} ({})", node.name, to_string(end), reason.view(),
            to_string(node.outcome), node.reason.name.view());
      } else if (end != PlannedEnd::done && reason != node.reason.name) {
        say("{} is {} because of {}, and was planned so because of {}", node.name, to_string(end),
            reason.view(), node.reason.name.view());
      }
    }
  }

  void compare_rollout(const rollout::PlannedRollout& planned,
                       const rollout::RolloutStatus& status) {
    if (planned.end_phase != status.phase) {
      say("the rollout is {} ({}), and was planned as {} ({})", to_string(status.phase),
          status.reason.view(), to_string(planned.end_phase), planned.end.name.view());
    }
    for (size_t i = 0; i < planned.waves.size(); ++i) {
      const rollout::PlannedWave& wave = planned.waves[i];
      const bool opened = i < status.waves.size() && status.waves[i].opened.is_set();
      if (opened != wave.opens.has_value()) {
        say("wave {} {}, and was planned to", wave.name, opened ? "opened" : "did not open");
        continue;
      }
      if (!opened) continue;
      compare_time("wave " + wave.name + " opened", status.waves[i].opened - plan_.now,
                   *wave.opens);
      const std::vector<std::string> nodes = nodes_of_wave(planned.name, i);
      if (nodes == wave.nodes) continue;
      say("wave {} had {}, and was planned with {}", wave.name, join(nodes, " "),
          join(wave.nodes, " "));
    }
  }

  std::vector<std::string> wrong() && { return std::move(wrong_); }

 private:
  template <typename... Values>
  void say(fmt::format_string<Values...> text, Values&&... values) {
    wrong_.push_back("the plan: " + fmt::format(text, std::forward<Values>(values)...));
  }

  // Nothing: it did not start. That it was not planned so is said when it is first asked.
  std::optional<Duration> began_of(const PlannedNode& node) {
    auto at = witness_.began().find(node.name);
    std::optional<Duration> began;
    if (at != witness_.began().end()) began = at->second - plan_.now;
    if (!asked_.insert(node.name).second) return began;
    if (began.has_value() != node.start.has_value()) {
      say("{} {}, and was planned {} ({})", node.name, began ? "started" : "did not start",
          node.start ? "to" : "not to", node.reason.name.view());
    } else if (began) {
      compare_time(node.name + " started", *began, *node.start);
    }
    return began;
  }

  void compare_time(const std::string& what, Duration seen, Duration planned) {
    const Duration apart = std::max(seen - planned, planned - seen);
    if (apart <= tolerance(planned)) return;
    say("{} after {}, and was planned after {}", what, human_duration(seen),
        human_duration(planned));
  }

  std::vector<std::string> nodes_of_wave(const std::string& rollout, size_t wave) {
    Document map =
        cluster_.get(resource::config_maps, {"lockstep-system", view::wave_name(rollout, wave)});
    std::vector<std::string> names;
    if (!map) return names;
    for (std::string_view name : split(text_at(*map, "data", "nodes"), '\n')) {
      if (!name.empty()) names.emplace_back(name);
    }
    std::sort(names.begin(), names.end(), natural_less);
    return names;
  }

  const rollout::Plan& plan_;
  Cluster& cluster_;
  const Witness& witness_;
  std::set<std::string> asked_;
  std::vector<std::string> wrong_;
};

}  // namespace

PlanCheck::PlanCheck(const view::FleetWatch& watch, Time now)
    : snapshot_(operate::plan_snapshot(watch, now)) {
  rollout::assume_change(snapshot_);
}

std::vector<std::string> PlanCheck::compare(
    Cluster& cluster, const Witness& witness, const RolloutPart& rollout,
    const std::map<std::string, fleet::Reason>& reasons) const {
  rollout::Pace pace;
  const std::vector<Duration>& durations = witness.durations();
  Duration all{0};
  for (Duration duration : durations) all += duration;
  if (!durations.empty()) pace.node = all / static_cast<int64_t>(durations.size());
  if (rollout.enabled()) {
    const auto& history = rollout.status().history;
    pace.gates = rollout::gates_time_by_history(history).value_or(pace.gates);
  }
  const rollout::Plan plan = rollout::run_forward(snapshot_, pace);
  Comparison comparison(plan, cluster, witness);
  comparison.compare_starts();
  comparison.compare_ends(reasons);
  for (const rollout::PlannedRollout& planned : plan.rollouts) {
    if (rollout.enabled()) comparison.compare_rollout(planned, rollout.status());
  }
  return std::move(comparison).wrong();
}

}  // namespace lockstep::sim
