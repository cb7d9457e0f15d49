#include "sim/explore/fault_plan.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/scenario/fault_steps.h"

namespace lockstep::sim {

namespace {

using Weights = kube::FaultWeights;

struct Chance {
  std::string_view name;
  double Weights::* field;
  double most;  // at strength 1
};

constexpr std::array<Chance, 13> plan_chances = {{
    {"requestLost", &Weights::request_lost, 0.1},
    {"requestLate", &Weights::request_late, 0.03},
    {"replyLost", &Weights::reply_lost, 0.1},
    {"conflict", &Weights::conflict, 0.1},
    {"expired", &Weights::expired, 0.1},
    {"throttled", &Weights::throttled, 0.1},
    {"serverError", &Weights::server_error, 0.1},
    {"watchRefused", &Weights::watch_refused, 0.2},
    {"watchDropped", &Weights::watch_dropped, 0.3},
    {"watchExpired", &Weights::watch_expired, 0.2},
    {"watchSilent", &Weights::watch_silent, 0.2},
    {"staleReplica", &Weights::stale_replica, 0.5},
    {"listCut", &Weights::list_cut, 0.3},
}};

enum class Doer { world, people, api, clock };

struct Lot {
  Doer doer;
  std::string_view kind;
};

// Each is as likely as any other.
constexpr std::array<Lot, 23> lots = {{
    {Doer::world, "rebootNodes"},
    {Doer::world, "rebootNodes"},
    {Doer::world, "recreateNodes"},
    {Doer::world, "deleteNodes"},
    {Doer::world, "hangKubelets"},
    {Doer::world, "notReadyFor"},
    {Doer::world, "crashDriver"},
    {Doer::world, "recreateDaemonSet"},
    {Doer::world, "recreateDriverPods"},
    {Doer::people, "pause"},
    {Doer::people, "relabel"},
    {Doer::people, "relabel"},
    {Doer::people, "cordon"},
    {Doer::people, "cordon"},
    {Doer::people, "cordon"},
    {Doer::api, "outage"},
    {Doer::api, "partition"},
    {Doer::api, "silenceWatches"},
    {Doer::api, "dropWatches"},
    {Doer::api, "olderReplica"},
    {Doer::api, "crash"},
    {Doer::api, "crash"},
    {Doer::clock, "clockStep"},
}};

class FaultDrawer {
 public:
  FaultDrawer(Random& random, double strength, const FaultScope& scope)
      : random_(random),
        strength_(std::clamp(strength, 0.0, 1.0)),
        scope_(scope),
        step_scope_{scope.nodes, scope.from_version, scope.to_version},
        steps_(random, step_scope_) {}

  FaultPlan draw() {
    FaultPlan plan;
    if (strength_ <= 0) return plan;
    plan.controller = weights();
    if (scope_.fleet) plan.fleet = weights();
    // Lists of the fleet's own actors are long and many; cutting them shows nothing new.
    plan.fleet.page_size = 0;
    if (scope_.world) draw_machines(plan);
    draw_steps(plan);
    if (scope_.users) draw_versions(plan);
    std::stable_sort(plan.steps.begin(), plan.steps.end(),
                     [](const Interference& a, const Interference& b) { return a.at < b.at; });
    return plan;
  }

 private:
  bool chance(double probability) { return steps_.chance(probability); }
  Duration up_to(Duration most) { return steps_.up_to(most); }
  Duration between(Duration least, Duration most) { return steps_.between(least, most); }

  // Half of the kinds at a time: a run in which everything fails all the time gets nowhere.
  Weights weights() {
    Weights weights;
    for (const Chance& each : plan_chances) {
      bool wanted = chance(0.5);
      double share = random_.fraction();
      if (wanted) weights.*each.field = each.most * strength_ * share;
    }
    if (chance(0.7)) weights.latency = milliseconds(500);
    if (chance(0.7)) weights.watch_lag = up_to(seconds(5));
    if (chance(0.5)) weights.watch_lag_of["pods"] = up_to(seconds(60));
    if (chance(0.5)) weights.watch_lag_of["nodes"] = up_to(seconds(60));
    if (chance(0.3)) weights.watch_lag_of["daemonsets.apps"] = up_to(seconds(60));
    if (chance(0.3)) weights.watch_lag_of["clusterpolicies.nvidia.com"] = up_to(seconds(60));
    weights.replica_lag = between(seconds(5), minutes(3));
    weights.page_size = 1 + random_.below(5);
    return weights;
  }

  void draw_machines(FaultPlan& plan) {
    auto broken = random_.below(1 + static_cast<uint64_t>(strength_ * 3));
    for (uint64_t i = 0; i < broken; ++i) {
      NodeChoice choice;
      choice.numbers.push_back(steps_.some_node());
      plan.machines.emplace_back(std::move(choice), behaviour());
    }
  }

  NodeBehaviour behaviour() {
    NodeBehaviour behaviour;
    const std::string version = scope_.to_version.empty() ? "*" : scope_.to_version;
    switch (random_.below(8)) {
      case 0:
        behaviour.driver_crashes = version;
        behaviour.driver_crash_count = 1 + static_cast<int>(random_.below(3));
        break;
      case 1:
        behaviour.driver_crashes = version;
        break;
      case 2:
        behaviour.image_pull_fails = version;
        break;
      case 3:
        behaviour.loads_instead = scope_.from_version;
        break;
      case 4:
        behaviour.driver_never_ready = version;
        break;
      case 5:
        behaviour.validation_fails = version;
        break;
      case 6:
        behaviour.driver_load = between(minutes(1), minutes(20));
        break;
      default:
        behaviour.slowness = 1.0 + 3.0 * random_.fraction();
        break;
    }
    return behaviour;
  }

  void draw_steps(FaultPlan& plan) {
    const auto count = 1 + random_.below(1 + static_cast<uint64_t>(strength_ * 12));
    for (uint64_t i = 0; i < count; ++i) {
      // What is drawn does not depend on what is allowed, as far as that goes.
      const Lot& lot = lots[random_.below(lots.size())];
      if (!is_allowed(lot.doer)) continue;
      Interference step =
          steps_.draw(lot.doer == Doer::people ? what_people_do(lot.kind) : lot.kind);
      if (step.action == "deleteNodes" && (scope_.nodes < 3 || deleted_++ > 0)) continue;
      step.at = up_to(scope_.length);
      plan.steps.push_back(std::move(step));
    }
  }

  bool is_allowed(Doer doer) const {
    return doer == Doer::api || (doer == Doer::world && scope_.world) ||
           (doer == Doer::people && scope_.users) || (doer == Doer::clock && scope_.clock);
  }

  // One action of a user covers several kinds.
  std::string_view what_people_do(std::string_view kind) {
    static constexpr std::array<std::string_view, 6> on_nodes = {"cordon", "uncordon", "skip",
                                                                 "unskip", "retry",    "cordon"};
    if (kind == "pause") return chance(0.5) ? "pause" : "resume";
    return kind == "cordon" ? on_nodes[random_.below(on_nodes.size())] : kind;
  }

  void draw_versions(FaultPlan& plan) {
    if (scope_.from_version.empty() || scope_.to_version.empty()) return;
    if (!chance(0.5 * strength_)) return;
    Duration back = up_to(scope_.length / 2);
    Duration again = back + up_to(scope_.length / 2);
    for (const auto& [at, version] :
         {std::pair(back, scope_.from_version), std::pair(again, scope_.to_version)}) {
      Interference step;
      step.action = "setVersion";
      step.value = Json(version);
      step.at = at;
      plan.steps.push_back(std::move(step));
    }
  }

  Random& random_;
  double strength_;
  const FaultScope& scope_;
  FaultStepScope step_scope_;
  FaultSteps steps_;
  int deleted_ = 0;
};

void add_lines(std::string_view of, const Weights& weights, std::vector<std::string>& lines) {
  std::string line;
  for (const Chance& each : plan_chances) {
    if (weights.*each.field > 0) line += fmt::format(" {} {:.4f}", each.name, weights.*each.field);
  }
  auto length = [&](std::string_view name, Duration value) {
    if (value > Duration(0)) line += fmt::format(" {} {}", name, format_duration(value));
  };
  length("latency", weights.latency);
  length("watchLag", weights.watch_lag);
  for (const auto& [type, lag] : weights.watch_lag_of) length("watchLag." + type, lag);
  if (!line.empty()) lines.push_back(fmt::format("{}:{}", of, line));
}

std::string names_of(const NodeChoice& choice) {
  std::string names;
  for (int number : choice.numbers) names += fmt::format(" {}", node_name(number - 1));
  if (choice.first > 0) names += fmt::format(" first {}", choice.first);
  if (choice.every > 0) names += fmt::format(" every {}", choice.every);
  return names;
}

std::string line_of(const NodeBehaviour& behaviour) {
  std::string line;
  auto text = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) line += fmt::format(" {} {}", name, value);
  };
  text("imagePullFails", behaviour.image_pull_fails);
  text("driverCrashes", behaviour.driver_crashes);
  if (behaviour.driver_crash_count >= 0) line += fmt::format(" x{}", behaviour.driver_crash_count);
  text("driverNeverReady", behaviour.driver_never_ready);
  text("loadsInstead", behaviour.loads_instead);
  text("validationFails", behaviour.validation_fails);
  text("prepareFails", behaviour.prepare_fails);
  if (behaviour.driver_load > Duration(0)) {
    line += fmt::format(" driverLoad {}", format_duration(behaviour.driver_load));
  }
  if (behaviour.slices_late > Duration(0)) {
    line += fmt::format(" slicesLate {}", format_duration(behaviour.slices_late));
  }
  if (behaviour.slowness != 1.0) line += fmt::format(" slowness {:.2f}", behaviour.slowness);
  return line;
}

}  // namespace

std::vector<std::string> FaultPlan::lines() const {
  std::vector<std::string> lines;
  add_lines("controller", controller, lines);
  add_lines("fleet", fleet, lines);
  for (const auto& [choice, behaviour] : machines) {
    lines.push_back(fmt::format("machine{}:{}", names_of(choice), line_of(behaviour)));
  }
  for (const Interference& step : steps) {
    lines.push_back(fmt::format("at {}: {} {}{}", format_duration(step.at), step.action,
                                print_json(step.value), names_of(step.nodes)));
  }
  return lines;
}

FaultPlan random_fault_plan(Random& random, double strength, const FaultScope& scope) {
  return FaultDrawer(random, strength, scope).draw();
}

void add_faults(Scenario& scenario, const FaultPlan& plan) {
  scenario.controller_weights = plan.controller;
  scenario.fleet_weights = plan.fleet;
  scenario.machines.insert(scenario.machines.end(), plan.machines.begin(), plan.machines.end());
  scenario.steps.insert(scenario.steps.end(), plan.steps.begin(), plan.steps.end());
}

}  // namespace lockstep::sim
