#include "sim/scenario/scenario_run.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "kube/fault_api.h"
#include "sim/actors/cluster.h"
#include "sim/oracle/event_log.h"
#include "sim/oracle/witness.h"
#include "sim/scenario/blindness.h"
#include "sim/scenario/controller_path.h"
#include "sim/scenario/expectations.h"
#include "sim/scenario/fault_reader.h"
#include "sim/scenario/people.h"
#include "sim/scenario/plan_check.h"
#include "sim/scenario/reroll_hook.h"
#include "sim/scenario/rollout_part.h"
#include "sim/scenario/run_controllers.h"
#include "sim/scenario/shifted_loop.h"
#include "sim/scenario/shown_reasons.h"
#include "sim/scenario/step_times.h"
#include "sim/scenario/world_faults.h"
#include "sim/scenario/world_weights.h"
#include "upgrade/slots.h"

namespace lockstep::sim {

namespace {

using fleet::State;

ClusterOptions cluster_options(const Scenario& scenario, const RunOptions& options) {
  ClusterOptions cluster;
  cluster.seed = options.seed;
  cluster.simulated.fleet = scenario.fleet;
  if (options.nodes > 0) cluster.simulated.fleet.nodes = options.nodes;
  int nodes = cluster.simulated.fleet.nodes;
  cluster.simulated.fleet.workloads = workloads_of(scenario, nodes);
  cluster.simulated.gpu_operator = scenario.gpu_operator;
  cluster.simulated.kubelets.latencies = scenario.latencies;
  cluster.simulated.kubelets.knows_error_type = scenario.permanent_failures;
  for (const auto& [choice, labels] : scenario.labels) {
    for (const std::string& name : choice.names(nodes)) {
      for (const auto& [key, value] : labels) {
        cluster.simulated.fleet.node_labels[name][key] = value;
      }
    }
  }
  return cluster;
}

WitnessOptions witness_options(const Scenario& scenario, const Disturbances& disturbances) {
  WitnessOptions options;
  options.blindness = blindness_of(scenario, disturbances.freezes);
  bool sends_late = scenario.controller_faults > 0 ||
                    (scenario.controller_weights && scenario.controller_weights->request_late > 0);
  if (sends_late) options.lateness = kube::Request().limit + seconds(5);
  options.key_domain = scenario.key_domain;
  options.clients_renewed = scenario.reroll_clients;
  options.outsiders_contained = !scenario.conduct;
  return options;
}

// One run: the cluster, the controllers, and the sources of interference.
class Run {
 public:
  Run(const Scenario& scenario, const RunOptions& options)
      : scenario_(scenario),
        disturbances_(options.disturbances),
        cluster_(cluster_options(scenario, options)),
        events_(cluster_, options.events, fleet::Keys(scenario.key_domain)),
        nodes_(options.nodes > 0 ? options.nodes : scenario.fleet.nodes),
        controller_random_(options.seed * 7 + 5),
        observer_api_(cluster_.api("observer")),
        path_(
            cluster_, events_, options, [this](const Freeze& freeze) { on_freeze(freeze); },
            [this](const kube::Request& request) {
              if (witness_) witness_->see_request(request);
            },
            [this](const Crash& crash) { on_crash(crash.away); }),
        clock_(cluster_.loop),
        world_(cluster_, path_.fault_api(), path_.faults(), clock_),
        rollout_(cluster_, scenario, options.seed),
        people_(cluster_, scenario, rollout_),
        hook_(scenario, cluster_, options.seed),
        controllers_(scenario, cluster_, clock_, controller_random_, rollout_),
        shown_(scenario, cluster_, clock_, controllers_, observer_api_, options.seed * 13 + 7),
        steps_(scenario),
        takes_digest_(options.takes_digest),
        longest_blindness_(blindness_of(scenario, options.disturbances.freezes)) {
    summary_.scenario = scenario.name;
    summary_.seed = options.seed;
    summary_.nodes = nodes_;
  }

  RunSummary run() {
    if (!cluster_.start()) {
      summary_.disappointments.push_back("the fleet did not come up");
      return summary_;
    }
    must(rollout_.start());
    witness_.emplace(cluster_, witness_options(scenario_, disturbances_));
    // Those that led to it; what comes later is of no interest.
    witness_->on_first_violation([this] { summary_.last_events = events_.lines(); });
    start_controllers();
    // Every node is known and in sync before anything happens.
    run_for(minutes(1));
    begin();
    while (cluster_.loop.uptime() < began_ + scenario_.limit && !at_rest() && !is_hopeless()) {
      wait_a_second();
      look_at_reasons();
      take_steps();
      see_calm();
    }
    for (size_t i = 0; i < scenario_.steps.size(); ++i) {
      if (!steps_.taken(i))
        summary_.disappointments.push_back(step_name(i) + ": its time never came");
    }
    busy_ = std::max(witness_->last_node_change() - began_, Duration(0));
    summary_.rested = at_rest();
    uint64_t writes_at_rest = path_.crash().writes();
    run_for(scenario_.aftermath);
    witness_->look_at_machines();
    // Once the faults have ended, nothing has been hidden for a while.
    if (stands_still_for(is_disturbed() ? longest_blindness_ : calm_blindness)) {
      shown_.forget();
      check_reasons();
    }
    look();
    summary_.late_writes = path_.crash().writes() - writes_at_rest;
    summary_.writes = path_.crash().writes();
    summary_.sightings = path_.sightings();
    summary_.end = end_facts(cluster_, fleet::Keys(scenario_.key_domain));
    if (takes_digest_) summary_.digest = cluster_.digest();
    summary_.violations = witness_->violations();
    if (summary_.last_events.empty()) summary_.last_events = events_.lines();
    judge(scenario_.expect, summary_.node_writes, "");
    judge_ending();
    return summary_;
  }

 private:
  void begin() {
    if (scenario_.controller_faults > 0) {
      path_.faults().weights = kube::FaultWeights::everything(scenario_.controller_faults);
    }
    if (scenario_.fleet_faults > 0) {
      cluster_.fleet_faults().weights = kube::FaultWeights::everything(scenario_.fleet_faults);
    }
    if (scenario_.controller_weights) path_.faults().weights = *scenario_.controller_weights;
    if (scenario_.fleet_weights) cluster_.fleet_faults().weights = *scenario_.fleet_weights;
    // Not before: the fleet came up without faults.
    for (const auto& [choice, behaviour] : scenario_.machines) {
      for (const auto& name : choice.names(nodes_)) {
        cluster_.kubelets().set_behaviour(name, behaviour);
      }
    }
    path_.count_afresh();
    witness_->count_afresh();
    began_ = cluster_.loop.uptime();
    restarts_before_ = driver_loads();
    if (scenario_.expect.as_planned.value_or(false) && !controllers_.empty()) {
      plan_.emplace(controllers_.watch(), cluster_.loop.now());
    }
    if (!scenario_.to_version.empty()) must(people_.set_version(scenario_.to_version));
    hook_.start();
  }

  // Once nothing hides anything from the controller any more, and it has had the time to see what
  // was hidden, every invariant is strict.
  void see_calm() {
    if (is_calm_ || !disturbances_.freezes.empty()) return;
    if (blindness_of(path_.faults().weights) > calm_blindness) return;
    const std::optional<Duration> end = steps_.end_of_blinding();
    if (!end) return;
    const Duration last = std::max(calmed_.value_or(Duration(0)), *end);
    // Several faults one after another hide a change for longer than each of them would.
    if (cluster_.loop.uptime() < last + 2 * long_blindness) return;
    is_calm_ = true;
    witness_->set_blindness(calm_blindness);
  }

  void on_crash(Duration away) {
    ++crashes_;
    events_.note("lockstep", "crash", "", fmt::format("back after {}", format_duration(away)));
    clear_controllers();
    cluster_.loop.after(away, scope_.bind([this] {
      if (controllers_.empty() && !stopped_) start_controllers();
    }));
  }

  void on_freeze(const Freeze& freeze) {
    events_.note("lockstep", "freeze", freeze.resource,
                 fmt::format("nothing new for {}", format_duration(freeze.length)));
    if (!freeze.crash || path_.crash().dead()) return;
    path_.crash().kill();
    on_crash(Duration(0));
  }

  void clear_controllers() {
    controllers_.clear();
    witness_->see_controllers(false);
  }

  void start_controllers() {
    stopped_ = false;
    witness_->see_controllers(true);
    controllers_began_ = cluster_.loop.uptime();
    controllers_.clear();
    path_.crash().begin_life();
    controllers_.start(path_.api(), *witness_);
  }

  // No actor has anything left to do: all steps taken, no upgrade in progress, quiet for a
  // while.
  bool at_rest() const { return steps_.all_taken() && is_quiet() && hook_.is_over(); }

  bool is_quiet() const {
    if (controllers_.empty() && !stopped_) return false;
    Duration last =
        std::max({witness_->last_node_change(), began_, controllers_began_, steps_.last_end()});
    // Asked after every second: what costs least comes first.
    if (cluster_.loop.uptime() - last <= minutes(5) || !rollout_.at_rest()) return false;
    const auto counts = witness_->nodes_by_state();
    return std::none_of(counts.begin(), counts.end(),
                        [](const auto& count) { return fleet::is_active(count.first); });
  }

  // Or less, when a step must come at the very event that it waits for.
  void wait_a_second() {
    for (size_t i = 0; i < scenario_.steps.size(); ++i) {
      if (steps_.taken(i) || !scenario_.steps[i].promptly) continue;
      cluster_.loop.run_until([&] { return is_due(i); }, seconds(1));
      return;
    }
    run_for(seconds(1));
  }

  // Where nothing takes time, two that undo each other's steps would never let it pass.
  bool is_hopeless() const { return witness_->violations().size() >= Witness::most_violations; }
  void run_for(Duration length) {
    cluster_.loop.run_until([this] { return is_hopeless(); }, length);
  }

  bool is_due(size_t i) const {
    const Interference& step = scenario_.steps[i];
    Duration now = cluster_.loop.uptime();
    if (now - began_ < step.at) return false;
    if (step.after && (!steps_.taken(i - 1) || now - *steps_.taken(i - 1) < *step.after))
      return false;
    if (step.rest && !is_quiet()) return false;
    if (!step.phase.empty() && step.phase != to_string(rollout_.status().phase)) return false;
    return !step.state || witness_->reached(*step.state) >= step.reached.of(nodes_, Rounding::up);
  }

  void take_steps() {
    for (size_t i = 0; i < scenario_.steps.size(); ++i) {
      if (steps_.taken(i) || !is_due(i)) continue;
      steps_.note_taken(i, cluster_.loop.uptime());
      events_.note("users", "step", scenario_.steps[i].action,
                   print_json(scenario_.steps[i].value));
      if (scenario_.steps[i].action == "check") {
        look();
        judge(scenario_.steps[i].check, summary_.node_writes - writes_before_, step_name(i) + ": ");
      } else {
        take(scenario_.steps[i]);
      }
      look();
      writes_before_ = summary_.node_writes;
    }
  }

  static std::string step_name(size_t index) { return fmt::format("steps[{}]", index); }

  void take(const Interference& step) {
    if (auto taken = world_.take(step, nodes_)) {
      must(*taken);
      if (step.action == "clockStep") witness_->see_clock_step();
      if (step.action == "heal") {
        calmed_ = cluster_.loop.uptime();
        path_.crash().call_off();
        must(people_.retry_failed());
      }
      return;
    }
    const std::string& action = step.action;
    if (action == "restart" || action == "start") {
      start_controllers();
    } else if (action == "stop") {
      stopped_ = true;
      clear_controllers();
    } else if (action == "crash") {
      path_.crash().crash_in(read_again(step.value, read_crash_step));
    } else if (action == "calm") {
      calm();
    } else {
      must(people_.take(step, nodes_));
    }
  }

  void calm() {
    calmed_ = cluster_.loop.uptime();
    path_.calm();
    cluster_.fleet_faults().weights = {};
  }

  template <typename T>
  void must(const Result<T>& result) {
    if (!result) summary_.disappointments.push_back("a step failed: " + result.error().text());
  }

  int64_t driver_loads() {
    int64_t loads = 0;
    for (const auto& node : cluster_.kubelets().node_names()) {
      loads += static_cast<int64_t>(cluster_.kubelets().machine(node).generation());
    }
    return loads;
  }

  // Once nothing has changed for as long as anything may stay hidden from the controller, it has to
  // know all of it, and what it shows has to be true.
  void look_at_reasons() {
    if (cluster_.backend.store.version() < next_look_) return;
    if (is_disturbed() || !stands_still_for(longest_blindness_)) return;
    check_reasons();
    // Not again before something has changed; and checking a large fleet costs as much as many
    // changes.
    const int changes = nodes_ > 100 ? 10 * nodes_ : 1;
    next_look_ = cluster_.backend.store.version() + static_cast<uint64_t>(changes);
  }

  // Something is between the controller and its API: several faults one after another hide a change
  // for longer than each of them would.
  bool is_disturbed() const { return !calmed_ && longest_blindness_ >= long_blindness; }

  bool stands_still_for(Duration length) const {
    Duration since =
        std::max({witness_->last_change(), controllers_began_, calmed_.value_or(Duration(0))});
    return !controllers_.empty() && cluster_.loop.uptime() - since > length;
  }

  void check_reasons() {
    shown_.check(*witness_, [this](Duration length) { run_for(length); });
  }

  // The current state.
  void look() {
    summary_.done = summary_.failed = 0;
    summary_.states.clear();
    for (const auto& [state, count] : witness_->nodes_by_state()) {
      summary_.states[std::string(fleet::display_name(state))] = count;
      if (state == State::done) summary_.done = count;
      if (state == State::failed) summary_.failed = count;
    }
    summary_.commits = rollout_.commit_messages();
    summary_.virtual_seconds = in_seconds(busy_);
    summary_.ideal_seconds = ideal_seconds();
    summary_.faults = world_.taken();
    if (crashes_ > 0) summary_.faults["crash"] = crashes_;
    path_.count(summary_);
  }

  void judge(const Expectations& expect, uint64_t writes_since, const std::string& where) {
    auto reasons_now = shown_.now();
    summary_.reasons.clear();
    for (const auto& [node, reason] : reasons_now) {
      if (reason.name != fleet::Reason::in_sync) ++summary_.reasons[reason.name.str()];
    }
    EndState end{expect,       cluster_,    *witness_,
                 summary_,     reasons_now, driver_loads() - restarts_before_,
                 writes_since, hook_.end(), hook_.text()};
    for (const auto& text : check_expectations(end)) {
      summary_.disappointments.push_back(where + text);
    }
  }

  // What every run must come to, whatever else it expects: its goal, and silence.
  void judge_ending() {
    auto& missed = summary_.disappointments;
    // A step that never came is said already.
    if (!summary_.rested && steps_.all_taken()) {
      missed.push_back(
          fmt::format("it did not come to rest within {}", format_duration(scenario_.limit)));
    }
    if (summary_.late_writes > 0) {
      missed.push_back(fmt::format("{} writes after it had come to rest", summary_.late_writes));
    }
    // No controller is there that could work on them, or say why they wait.
    if (controllers_.empty()) return;
    if (plan_) {
      for (auto& text : plan_->compare(cluster_, *witness_, rollout_, shown_.now())) {
        missed.push_back(std::move(text));
      }
    }
    const fleet::Keys keys(scenario_.key_domain);
    for (auto& text : missing_to_goal(cluster_, shown_.now(), keys)) {
      missed.push_back(std::move(text));
    }
  }

  double ideal_seconds() {
    const auto& durations = witness_->durations();
    if (durations.empty()) return 0;
    Duration sum{0};
    for (Duration duration : durations) sum += duration;
    double own = in_seconds(sum) / static_cast<double>(durations.size());
    Document object = cluster_.get(cluster_policies, {"", "cluster-policy"});
    upgrade::Policy policy = upgrade::policy_of_cluster_policy(*object);
    upgrade::Limits limits = upgrade::limits_of(policy, nodes_);
    int64_t parallel =
        limits.parallel == 0 ? limits.unavailable : std::min(limits.parallel, limits.unavailable);
    parallel = std::max<int64_t>(1, parallel);
    auto count = static_cast<int64_t>(durations.size());
    return static_cast<double>((count + parallel - 1) / parallel) * own;
  }

  const Scenario& scenario_;
  const Disturbances& disturbances_;
  Cluster cluster_;
  EventLog events_;
  int nodes_;
  SeededRandom controller_random_;
  kube::Api& observer_api_;
  ControllerPath path_;
  ShiftedLoop clock_;  // the controllers' own
  WorldFaults world_;
  RolloutPart rollout_;
  People people_;
  RerollHook hook_;
  std::optional<Witness> witness_;
  std::optional<PlanCheck> plan_;  // made before the version changed
  RunControllers controllers_;
  ShownReasons shown_;
  StepTimes steps_;
  bool takes_digest_;
  Duration longest_blindness_;
  Duration began_{0};
  Duration controllers_began_{0};  // those that live
  bool is_calm_ = false;           // for good
  Duration busy_{0};
  std::optional<Duration> calmed_;  // when the faults ended
  uint64_t next_look_ = 0;          // at what is shown: from this version of the store on
  int64_t restarts_before_ = 0;
  uint64_t writes_before_ = 0;  // when the last step was taken
  uint64_t crashes_ = 0;
  bool stopped_ = false;  // by a step, not by a crash
  RunSummary summary_;
  Scope scope_;
};

}  // namespace

Findings findings_of(const RunSummary& run) {
  Findings findings{run.violations, run.last_events};
  findings.wrong.insert(findings.wrong.end(), run.disappointments.begin(),
                        run.disappointments.end());
  return findings;
}

RunSummary run_scenario(const Scenario& scenario, const RunOptions& options) {
  if (auto enough = check_nodes(scenario, options.nodes); !enough) {
    RunSummary summary;
    summary.scenario = scenario.name;
    summary.seed = options.seed;
    summary.nodes = options.nodes;
    summary.disappointments.push_back(enough.error().text());
    return summary;
  }
  if (!scenario.world) return Run(scenario, options).run();
  int nodes = options.nodes > 0 ? options.nodes : scenario.fleet.nodes;
  const Scenario drawn = with_world_drawn(scenario, options.seed, nodes);
  return Run(drawn, options).run();
}

}  // namespace lockstep::sim
