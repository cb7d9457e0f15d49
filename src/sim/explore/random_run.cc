#include "sim/explore/random_run.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/actors/versions.h"
#include "sim/explore/calm_twin.h"
#include "sim/explore/fault_plan.h"
#include "sim/explore/random_rollout.h"
#include "sim/scenario/fault_steps.h"
#include "sim/scenario/tenants.h"

namespace lockstep::sim {

namespace {

// Users and faults have this long; what comes after is calm.
constexpr Duration trouble = minutes(90);

class Drawer {
 public:
  explicit Drawer(uint64_t seed) : random_(seed * 13 + 11) {}

  Scenario draw(uint64_t seed) {
    scenario_.name = fmt::format("random-{}", seed);
    // Most fleets are small: a run of fifty nodes costs as much as ten of five.
    scenario_.fleet.nodes = 5 + number(chance(0.15) ? 46 : 11);
    draw_policy();
    draw_work();
    scenario_.to_version = new_version;
    draw_steps();
    draw_faults();
    draw_late_slices(seed);
    draw_driver_pods(seed);
    draw_plugin(seed);
    draw_tenants(seed);
    std::stable_sort(scenario_.steps.begin(), scenario_.steps.end(),
                     [](const auto& left, const auto& right) { return left.at < right.at; });
    add_the_end();
    return std::move(scenario_);
  }

 private:
  int number(int below) { return static_cast<int>(random_.below(static_cast<uint64_t>(below))); }
  bool chance(double probability) { return random_.fraction() < probability; }
  template <typename T, size_t size>
  const T& one_of(const std::array<T, size>& choices) {
    return choices[random_.below(size)];
  }
  int nodes() const { return scenario_.fleet.nodes; }

  void draw_policy() {
    static const std::array<Json, 8> unavailable = {1, 2, 3, "10%", "25%", "34%", "50%", "100%"};
    static const std::array<Json, 4> failures = {1, "10%", "50%", "100%"};
    static const std::array<std::string_view, 3> cordoned = {"wait", "upgrade", "ignore"};
    JsonObject policy{{"autoUpgrade", true}};
    policy["maxParallelUpgrades"] = number(6);
    policy["maxUnavailable"] = one_of(unavailable);
    if (chance(0.5)) policy["maxFailures"] = one_of(failures);
    if (chance(0.4)) policy["cordonedNodes"] = one_of(cordoned);
    if (chance(0.3)) {
      policy["waitForCompletion"] =
          JsonObject{{"podSelector", "app=llm-pretrain"}, {"timeoutSeconds", number(3) * 600}};
    }
    allows_bare_ = chance(0.3);
    allows_empty_dir_ = chance(0.3);
    policy["podDeletion"] = JsonObject{{"force", allows_bare_},
                                       {"deleteEmptyDir", allows_empty_dir_},
                                       {"timeoutSeconds", 60 + number(4) * 300}};
    if (chance(0.25)) {
      bool all = chance(0.5);
      drains_ = true;
      policy["drain"] = JsonObject{
          {"enable", true}, {"force", all}, {"deleteEmptyDir", all}, {"timeoutSeconds", 300}};
      allows_bare_ = allows_bare_ || all;
      allows_empty_dir_ = allows_empty_dir_ || all;
    }
    if (chance(0.2)) {
      policy["deadlines"] =
          JsonObject{{"restartSeconds", 300 + number(4) * 300}, {"validationSeconds", 120}};
    }
    scenario_.fleet.upgrade_policy = std::move(policy);
  }

  // At most half of all GPUs, so that work that must move finds a place.
  void draw_work() {
    WorkloadOptions& work = scenario_.fleet.workloads;
    if (chance(0.2)) return;
    if (chance(0.6)) {
      work.deployment_replicas = 1 + number(nodes());
      work.deployment_gpus = 1 + number(2);
      if (chance(0.4) && work.deployment_replicas > 1) {
        // All of them: every eviction is refused, indefinitely.
        work.min_available =
            chance(0.4) ? work.deployment_replicas : number(work.deployment_replicas);
      }
    }
    if (chance(0.4)) {
      work.job_pods = 1 + number(nodes());
      work.job_gpus = 1;
      work.job_seconds = 300 + number(6) * 300;
    }
    if (chance(0.5)) work.claim_pods = 1 + number(nodes());
    work.bare_pod = chance(0.1);
    work.empty_dir_pod = chance(0.1);
    work.daemon_set_pods = chance(0.1);
  }

  // All that the world does by itself, as one plan.
  void draw_faults() {
    const WorkloadOptions& work = scenario_.fleet.workloads;
    bool idle = work.deployment_replicas == 0 && work.job_pods == 0 && work.claim_pods == 0 &&
                !work.bare_pod && !work.empty_dir_pod && !work.daemon_set_pods;
    FaultScope scope;
    scope.nodes = nodes();
    scope.length = trouble;
    scope.from_version = old_version;
    scope.to_version = new_version;
    // A scheduler that does not know of a cordon brings work to a node whose driver is about to go,
    // and no controller can see that in time.
    scope.fleet = idle && chance(0.7);
    double strength = chance(0.15) ? 0 : 0.05 * (1 + number(20));
    add_faults(scenario_, random_fault_plan(random_, strength, scope));
    if (chance(0.3)) scenario_.controllers = 2;
  }

  // With random numbers of its own, so that older seeds stay what they were.
  void draw_late_slices(uint64_t seed) {
    SeededRandom random(seed * 13 + 12);
    if (random.below(10) != 0) return;
    NodeChoice choice;
    NodeBehaviour behaviour;
    choice.numbers.push_back(1 + static_cast<int>(random.below(static_cast<uint64_t>(nodes()))));
    behaviour.slices_late = seconds(10 + static_cast<int64_t>(random.below(290)));
    // One machine has one fault.
    bool is_taken =
        std::any_of(scenario_.machines.begin(), scenario_.machines.end(),
                    [&](const auto& machine) { return machine.first.numbers == choice.numbers; });
    if (!is_taken) scenario_.machines.emplace_back(std::move(choice), std::move(behaviour));
  }

  // With random numbers of its own, too: drivers that others restart, a driver-manager that
  // uncordons, requests for a restart, and a policy of which the CRD keeps only what it knows.
  void draw_driver_pods(uint64_t seed) {
    SeededRandom random(seed * 13 + 13);
    auto node = [&] { return 1 + static_cast<int>(random.below(static_cast<uint64_t>(nodes()))); };
    auto add = [&](std::string action, Json value, std::vector<int> on) {
      Interference step;
      step.at = seconds(static_cast<int64_t>(random.below(5000)));
      step.action = std::move(action);
      step.value = std::move(value);
      step.nodes.numbers = std::move(on);
      scenario_.steps.push_back(std::move(step));
    };
    if (random.below(4) == 0) add("deleteDriverPods", true, {node()});
    if (random.below(6) == 0) add("request", true, {node()});
    if (random.below(4) == 0) {
      const int whose = node();
      add("cordon", true, {whose});
      NodeChoice choice;
      choice.first = nodes();
      NodeBehaviour behaviour;
      behaviour.manager_uncordons = true;
      // One machine has one fault.
      if (scenario_.machines.empty()) scenario_.machines.emplace_back(choice, behaviour);
    }
    if (random.below(15) == 0) {
      scenario_.fleet.driver_strategy = "RollingUpdate";
      add("setDriverStrategy", "OnDelete", {});
    }
    if (random.below(6) == 0) prune_policy();
  }

  void prune_policy() {
    scenario_.fleet.prunes_policy = true;
    JsonObject kept;
    for (std::string_view key : {"maxFailures", "cordonedNodes", "deadlines"}) {
      const Json* value = find(scenario_.fleet.upgrade_policy, key);
      if (value != nullptr) kept[key] = *value;
    }
    if (!kept.empty()) scenario_.fleet.policy_annotation = std::move(kept);
  }

  // The same: the chart of the DRA plugin, and pods that have a claim although their spec does not
  // mention it.
  void draw_plugin(uint64_t seed) {
    SeededRandom random(seed * 17 + 5);
    scenario_.fleet.dra_renamed = random.below(3) == 0;
    WorkloadOptions& work = scenario_.fleet.workloads;
    if (work.claim_pods == 0 || random.below(3) != 0) return;
    work.extended_pods = 1 + static_cast<int>(random.below(static_cast<uint64_t>(nodes())));
  }

  // And a tenant that imitates parts of the driver, and changes them like new versions.
  void draw_tenants(uint64_t seed) {
    SeededRandom random(seed * 31 + 7);
    if (random.below(100) >= 15) return;
    for (int i = 1 + static_cast<int>(random.below(6)); i > 0; --i) {
      Interference step;
      step.at = seconds(static_cast<int64_t>(random.below(5000)));
      step.action = "imitate";
      step.value = Json(imitations().at(random.below(imitations().size())));
      scenario_.steps.push_back(std::move(step));
    }
  }

  NodeChoice some_nodes() {
    NodeChoice choice;
    if (chance(0.2)) {
      choice.first = nodes();
      return choice;
    }
    for (int i = 1 + number(3); i > 0; --i) choice.numbers.push_back(1 + number(nodes()));
    std::sort(choice.numbers.begin(), choice.numbers.end());
    choice.numbers.erase(std::unique(choice.numbers.begin(), choice.numbers.end()),
                         choice.numbers.end());
    return choice;
  }

  void draw_steps() {
    std::vector<Interference> steps;
    for (int i = number(9); i > 0; --i) {
      Interference step;
      step.at = seconds(number(static_cast<int>(in_seconds(trouble))));
      steps.push_back(std::move(step));
    }
    for (Interference& step : steps) draw_action(step);
    scenario_.steps = std::move(steps);
  }

  void draw_action(Interference& step) {
    static const std::array<std::string_view, 9> on_nodes = {"cordon", "uncordon", "retry",
                                                             "skip",   "unskip",   "notReady",
                                                             "ready",  "repair",   "crashDriver"};
    static const std::array<std::string_view, 3> versions = {old_version, new_version,
                                                             third_version};
    auto set = [&](std::string action, Json value) {
      step.action = std::move(action);
      step.value = std::move(value);
    };
    switch (number(10)) {
      case 0:
        return set("setVersion", Json(one_of(versions)));
      case 1:
        return set("pause", "by a user");
      case 2:
        return set("resume", true);
      case 3:
        return set("restart", true);
      case 4:
        return set("cosmeticChange", JsonObject{{"example.com/number", std::to_string(number(9))}});
      case 5:
        return set("setPolicy", some_policy());
      default:
        set(std::string(one_of(on_nodes)), true);
        step.nodes = some_nodes();
    }
  }

  Json some_policy() {
    switch (number(6)) {
      case 0:
        return JsonObject{{"maxUnavailable", "some"}};
      case 1:
        return JsonObject{{"maxUnavailable", 1 + number(3)}};
      case 2:
        return JsonObject{{"maxParallelUpgrades", number(4)}};
      case 3:
        return JsonObject{{"autoUpgrade", false}};
      case 4:
        return JsonObject{{"autoUpgrade", true}};
      default:
        return JsonObject{{"drain", JsonObject{{"enable", chance(0.5)}}}};
    }
  }

  // Whether something is left that blocks the goal although no actor does anything wrong any more.
  bool is_obstructed() const {
    const WorkloadOptions& work = scenario_.fleet.workloads;
    return (work.bare_pod && !allows_bare_) || (work.empty_dir_pod && !allows_empty_dir_) ||
           work.min_available > 0;
  }

  void add_the_end() {
    auto add = [&](std::string action, Json value) {
      Interference step;
      step.at = trouble;
      step.action = std::move(action);
      step.value = std::move(value);
      scenario_.steps.push_back(std::move(step));
    };
    add("calm", true);
    add("setPolicy", JsonObject{{"autoUpgrade", true},
                                {"maxUnavailable", "25%"},
                                {"drain", JsonObject{{"enable", drains_}}}});
    // Mostly the obstacles are removed; where they are not, nodes fail and say why.
    bool obstructed = is_obstructed() && chance(0.25);
    if (is_obstructed() && !obstructed) add("giveWay", true);
    for (Interference& step : end_of_troubles(trouble)) {
      scenario_.steps.push_back(std::move(step));
    }
    scenario_.limit = hours(72);
    scenario_.aftermath = minutes(30);
    if (obstructed) return;
    scenario_.expect.done = "all";
    scenario_.expect.failed = 0;
    scenario_.expect.cordoned = NodeChoice{};
    // The last word.
    std::string version(new_version);
    for (const auto& step : scenario_.steps) {
      if (step.action == "setVersion") version = std::string(as_text(&step.value));
    }
    scenario_.expect.version = std::move(version);
  }

  SeededRandom random_;
  Scenario scenario_;
  bool allows_bare_ = false;
  bool allows_empty_dir_ = false;
  bool drains_ = false;
};

}  // namespace

Scenario random_scenario(uint64_t seed, RandomKind kind) {
  Scenario scenario = Drawer(seed).draw(seed);
  if (kind == RandomKind::upgrade) return scenario;
  return with_random_rollout(std::move(scenario), seed);
}

RandomResult run_random(const Scenario& scenario, const RunOptions& options) {
  RandomResult result;
  result.summary = run_scenario(scenario, options);
  RunOptions of_twin = options;
  of_twin.takes_digest = false;
  RunSummary twin = run_scenario(calm_twin(scenario), of_twin);
  result.wrong = compare_with_twin(scenario, result.summary, twin);
  bool only_twin = result.summary.violations.empty() && !twin.violations.empty();
  result.last_events = only_twin ? std::move(twin.last_events) : result.summary.last_events;
  return result;
}

std::string kind_of_failure(const std::string& wrong) {
  std::string_view rest = wrong;
  // "at 5m27.478125885s: "
  if (rest.starts_with("at ")) rest.remove_prefix(std::min(rest.find(": ") + 2, rest.size()));
  std::string kind;
  for (size_t begin = 0; begin < rest.size();) {
    size_t end = std::min(rest.find(' ', begin), rest.size());
    std::string_view word = rest.substr(begin, end - begin);
    // Objects, numbers and lengths of time have digits; names of pods have their namespace.
    bool is_name = word.find_first_of("0123456789/") != std::string_view::npos;
    if (!is_name) kind.append(kind.empty() ? "" : " ").append(word);
    begin = end + 1;
  }
  return kind;
}

std::string random_command(uint64_t seed, RandomKind kind) {
  return fmt::format("lockstep simulate --random{} --seed {}",
                     kind == RandomKind::rollout ? " --rollouts" : "", seed);
}

}  // namespace lockstep::sim
