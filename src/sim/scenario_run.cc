#include "sim/scenario_run.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "controller/upgrade_controller.h"
#include "kube/counting_api.h"
#include "kube/fault_api.h"
#include "sim/cluster.h"
#include "sim/expectations.h"
#include "sim/observed_api.h"
#include "sim/shifted_loop.h"
#include "sim/witness.h"
#include "sim/world_faults.h"
#include "upgrade/decide.h"
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
  return cluster;
}

WitnessOptions witness_options(const Scenario& scenario) {
  WitnessOptions options;
  if (scenario.controller_faults == 0) options.blindness = seconds(5);
  options.clients_renewed = scenario.reroll_clients;
  return options;
}

// One run: the cluster, the controllers, and those who interfere.
class Run {
 public:
  Run(const Scenario& scenario, const RunOptions& options)
      : scenario_(scenario),
        cluster_(cluster_options(scenario, options)),
        nodes_(options.nodes > 0 ? options.nodes : scenario.fleet.nodes),
        controller_random_(options.seed * 7 + 5),
        fault_random_(options.seed * 11 + 3),
        faults_({}, fault_random_),
        fault_api_(cluster_.api("lockstep"), cluster_.loop, faults_),
        counting_(fault_api_, cluster_.loop),
        observed_(counting_,
                  [this](const kube::Request& request) {
                    if (witness_) witness_->see_request(request);
                  }),
        clock_(cluster_.loop),
        world_(cluster_, fault_api_, faults_, clock_),
        taken_(scenario.steps.size()) {
    summary_.scenario = scenario.name;
    summary_.seed = options.seed;
    summary_.nodes = nodes_;
  }

  RunSummary run() {
    if (!cluster_.start()) {
      summary_.disappointments.push_back("the fleet did not come up");
      return summary_;
    }
    witness_.emplace(cluster_, witness_options(scenario_));
    start_controllers();
    // Every node is known and in sync before anything happens.
    cluster_.loop.run_for(minutes(1));
    begin();
    while (cluster_.loop.uptime() < began_ + scenario_.limit && !at_rest()) {
      cluster_.loop.run_for(seconds(1));
      take_steps();
    }
    for (size_t i = 0; i < taken_.size(); ++i) {
      if (!taken_[i]) summary_.disappointments.push_back(step_name(i) + ": its time never came");
    }
    busy_ = std::max(witness_->last_node_change() - began_, Duration(0));
    cluster_.loop.run_for(scenario_.aftermath);
    witness_->look_at_machines();
    witness_->check_reasons(reasons());
    look();
    summary_.digest = cluster_.digest();
    summary_.violations = witness_->violations();
    judge(scenario_.expect, summary_.node_writes, "");
    return summary_;
  }

 private:
  void begin() {
    if (scenario_.controller_faults > 0) {
      faults_.weights = kube::FaultWeights::everything(scenario_.controller_faults);
    }
    if (scenario_.fleet_faults > 0) {
      cluster_.fleet_faults().weights = kube::FaultWeights::everything(scenario_.fleet_faults);
    }
    if (scenario_.controller_weights) faults_.weights = *scenario_.controller_weights;
    if (scenario_.fleet_weights) cluster_.fleet_faults().weights = *scenario_.fleet_weights;
    // Not before: the fleet came up without trouble.
    for (const auto& [choice, behaviour] : scenario_.machines) {
      for (const auto& name : choice.names(nodes_)) {
        cluster_.kubelets().set_behaviour(name, behaviour);
      }
    }
    counting_.reset();
    witness_->count_afresh();
    began_ = cluster_.loop.uptime();
    restarts_before_ = driver_loads();
    if (!scenario_.to_version.empty()) {
      must(cluster_.set_driver_version(scenario_.to_version, scenario_.to_chart));
    }
  }

  void start_controllers() {
    controllers_.clear();
    for (int i = 0; i < scenario_.controllers; ++i) {
      controller::UpgradeOptions options;
      if (!scenario_.reroll_clients) options.fleet.clients.clear();
      controllers_.push_back(std::make_unique<controller::UpgradeController>(
          observed_, clock_, controller_random_, log_, std::move(options)));
      controllers_.back()->start();
      controllers_.back()->lead();
    }
  }

  // Nobody has anything left to do: all steps taken, no upgrade under way, and quiet for a while.
  bool at_rest() const {
    Duration last = std::max(witness_->last_node_change(), began_);
    for (const auto& when : taken_) {
      if (!when) return false;
      last = std::max(last, *when);
    }
    for (const auto& [state, count] : witness_->nodes_by_state()) {
      if (fleet::is_active(state)) return false;
    }
    return cluster_.loop.uptime() - last > minutes(5);
  }

  bool is_due(size_t i) const {
    const Interference& step = scenario_.steps[i];
    Duration now = cluster_.loop.uptime();
    if (now - began_ < step.at) return false;
    if (step.after && (!taken_[i - 1] || now - *taken_[i - 1] < *step.after)) return false;
    return !step.state || witness_->reached(*step.state) >= step.reached.of(nodes_, Rounding::up);
  }

  void take_steps() {
    for (size_t i = 0; i < scenario_.steps.size(); ++i) {
      if (taken_[i] || !is_due(i)) continue;
      taken_[i] = cluster_.loop.uptime();
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
    if (auto taken = world_.take(step, nodes_)) return must(*taken);
    const std::string& action = step.action;
    if (action == "setVersion") {
      must(cluster_.set_driver_version(std::string(as_text(&step.value)), scenario_.to_chart));
    } else if (action == "setChart") {
      std::string chart = fmt::format("gpu-operator-{}", as_text(&step.value));
      patch_policy(
          JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{"helm.sh/chart", chart}}}}}});
    } else if (action == "setPolicy") {
      patch_policy(
          JsonObject{{"spec", JsonObject{{"driver", JsonObject{{"upgradePolicy", step.value}}}}}});
    } else if (action == "cosmeticChange") {
      patch_policy(JsonObject{
          {"spec", JsonObject{{"daemonsets", JsonObject{{"annotations", step.value}}}}}});
    } else if (action == "pause" || action == "resume") {
      Json value = action == "pause" ? step.value : Json(nullptr);
      patch_policy(
          JsonObject{{"metadata",
                      JsonObject{{"annotations", JsonObject{{fleet::paused_annotation, value}}}}}});
    } else if (action == "restart" || action == "start") {
      start_controllers();
    } else if (action == "stop") {
      controllers_.clear();
    } else if (action == "calm") {
      faults_.weights = {};
      cluster_.fleet_faults().weights = {};
    } else if (action == "addClaims") {
      WorkloadOptions workloads;
      workloads.claim_pods = static_cast<int>(step.share.of(nodes_, Rounding::up));
      for (const auto& request : workload_requests(workloads)) must(cluster_.call(request));
    } else if (action == "evictWork") {
      for (const auto& pod : cluster_.list(resource::pods, "ml-training")) {
        must(cluster_.call(kube::remove(
            resource::pods, {"ml-training", std::string(text_at(*pod, "metadata", "name"))})));
      }
    } else {
      for (const auto& name : step.nodes.names(nodes_)) {
        if (cluster_.kubelets().is_there(name)) steer(action, name);
      }
    }
  }

  void steer(const std::string& action, const std::string& node) {
    if (action == "cordon" || action == "uncordon") {
      Json value = action == "cordon" ? Json(true) : Json(nullptr);
      patch_node(node, JsonObject{{"spec", JsonObject{{"unschedulable", value}}}});
      return;
    }
    if (action == "repair") return cluster_.kubelets().set_behaviour(node, {});
    if (action == "ready" || action == "notReady") {
      return cluster_.kubelets().set_ready(node, action == "ready");
    }
    if (action == "crashDriver") return cluster_.kubelets().crash_driver(node);
    auto label = [&](const std::string& key, Json value) {
      patch_node(node, JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{key, value}}}}}});
    };
    if (action == "retry") label(keys_.state, Json(to_string(State::required)));
    if (action == "skip") label(keys_.skip, "true");
    if (action == "unskip") label(keys_.skip, nullptr);
  }

  void patch_node(const std::string& node, Json patch) {
    must(cluster_.call(
        kube::patch(resource::nodes, {"", node}, kube::PatchType::merge, std::move(patch))));
  }
  void patch_policy(Json patch) {
    must(cluster_.call(kube::patch(cluster_policies, {"", "cluster-policy"}, kube::PatchType::merge,
                                   std::move(patch))));
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

  void count_calls() {
    summary_.api_calls.clear();
    summary_.node_writes = 0;
    summary_.evictions = 0;
    for (const auto& [labels, counts] : counting_.counts()) {
      summary_.api_calls[labels.verb] += counts.calls;
      bool writes = labels.verb != "get" && labels.verb != "list" && labels.verb != "watch";
      if (labels.subresource == "eviction") {
        if (labels.code == 201 || labels.code == 200) summary_.evictions += counts.calls;
      } else if (writes && labels.resource != "events" &&
                 labels.resource != resource::leases.full_name()) {
        summary_.node_writes += counts.calls;
      }
    }
  }

  // As `lockstep why` would say it now; what the controller last decided may be from long ago, for
  // nodes about which nothing has changed.
  std::map<std::string, upgrade::Reason> reasons() {
    std::map<std::string, upgrade::Reason> reasons;
    if (controllers_.empty()) return reasons;
    const controller::FleetWatch& watch = controllers_.front()->watch();
    for (const auto& name : watch.nodes()) {
      auto view = watch.view(name);
      if (!view) continue;
      reasons[name] =
          upgrade::decide(*view, watch.pool(view->pool), watch.rules(), clock_.now()).reason;
    }
    return reasons;
  }

  // How things stand.
  void look() {
    summary_.done = summary_.failed = 0;
    summary_.states.clear();
    for (const auto& [state, count] : witness_->nodes_by_state()) {
      summary_.states[std::string(fleet::display_name(state))] = count;
      if (state == State::done) summary_.done = count;
      if (state == State::failed) summary_.failed = count;
    }
    summary_.virtual_seconds = in_seconds(busy_);
    summary_.ideal_seconds = ideal_seconds();
    count_calls();
    summary_.faults = world_.taken();
    for (const auto& [fault, count] : fault_api_.injected()) {
      summary_.faults[std::string(to_string(fault))] = count;
    }
  }

  void judge(const Expectations& expect, uint64_t writes_since, const std::string& where) {
    auto reasons_now = reasons();
    summary_.reasons.clear();
    for (const auto& [node, reason] : reasons_now) {
      if (reason.name != "InSync") ++summary_.reasons[reason.name];
    }
    EndState end{expect,      cluster_,    *witness_,
                 summary_,    reasons_now, driver_loads() - restarts_before_,
                 writes_since};
    for (const auto& text : check_expectations(end)) {
      summary_.disappointments.push_back(where + text);
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
  Cluster cluster_;
  int nodes_;
  SeededRandom controller_random_;
  SeededRandom fault_random_;
  kube::RandomFaults faults_;
  kube::FaultApi fault_api_;
  kube::CountingApi counting_;
  ObservedApi observed_;
  ShiftedLoop clock_;  // the controllers' own
  WorldFaults world_;
  SilentLog log_;
  fleet::Keys keys_;
  std::optional<Witness> witness_;
  std::vector<std::unique_ptr<controller::UpgradeController>> controllers_;
  std::vector<std::optional<Duration>> taken_;  // when each step was, on the loop's uptime
  Duration began_{0};
  Duration busy_{0};
  int64_t restarts_before_ = 0;
  uint64_t writes_before_ = 0;  // when the last step was taken
  RunSummary summary_;
};

}  // namespace

RunSummary run_scenario(const Scenario& scenario, const RunOptions& options) {
  if (auto enough = check_nodes(scenario, options.nodes); !enough) {
    RunSummary summary;
    summary.scenario = scenario.name;
    summary.seed = options.seed;
    summary.nodes = options.nodes;
    summary.disappointments.push_back(enough.error().text());
    return summary;
  }
  return Run(scenario, options).run();
}

}  // namespace lockstep::sim
