#include "server_run.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "fleet/keys.h"
#include "fleet/state.h"
#include "kube/sync_api.h"
#include "upgrade/policy.h"
#include "world/log.h"

namespace lockstep::real {

namespace {

const std::set<std::string, std::less<>> known_actions = {
    "setVersion", "setPolicy", "cosmeticChange", "cordon", "uncordon",
    "skip",       "unskip",    "retry",          "repair"};

// In all of these an upgrade leaves traces.
std::vector<ResourceType> compared_types() {
  return {
      resource::nodes,
      resource::pods,
      resource::daemon_sets,
      resource::controller_revisions,
      resource::deployments,
      resource::replica_sets,
      resource::jobs,
      resource::pod_disruption_budgets,
      resource::config_maps,
      resource::leases,
      resource::namespaces,
      resource::events,
      resource::resource_claims,
      resource::resource_slices,
      resource::custom_resource_definitions,
      fleet::cluster_policies,
      {"resource.k8s.io", "v1", "DeviceClass", "deviceclasses", false},
      {"resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates", true},
  };
}

// Ours, and the fleet's: a real cluster has a few of its own besides.
const std::set<std::string, std::less<>> our_namespaces = {"gpu-operator",    "nvidia-dra-driver",
                                                           "lockstep-system", "lockstep-gates",
                                                           "ml-training",     "kube-node-lease"};

bool is_ours(const Json& object) {
  std::string_view kind = text_at(object, "kind");
  std::string_view ns = text_at(object, "metadata", "namespace");
  std::string_view name = text_at(object, "metadata", "name");
  if (kind == "Namespace") return our_namespaces.contains(name);
  if (kind == "ConfigMap" && name == "kube-root-ca.crt") return false;
  // Ours alone; and of those not the warnings, which report waits that are longer or shorter.
  if (kind == "Event") {
    return text_at(object, "source", "component").starts_with("lockstep") &&
           text_at(object, "type") == "Normal";
  }
  return ns.empty() || our_namespaces.contains(ns);
}

// The controller's deadlines are in real time, which cannot be accelerated: a node that is to fail
// would be waited for ten minutes. Where nothing fails they stay long, for busy machines.
void shorten_deadlines(Json& policy, double speed) {
  auto shortened = [speed](Duration usual) {
    return static_cast<int64_t>(std::ceil(in_seconds(usual) / speed));
  };
  const upgrade::Deadlines usual;
  JsonObject deadlines{{"restartSeconds", shortened(usual.restart)},
                       {"imagePullSeconds", shortened(usual.image_pull)},
                       {"validationSeconds", shortened(usual.validation)}};
  if (const Json* asked = find(policy, "deadlines")) {
    for (const auto& [name, value] : asked->get_object()) deadlines[std::string(name)] = value;
  }
  policy.as_object()["deadlines"] = std::move(deadlines);
}

}  // namespace

std::string why_not_here(const sim::Scenario& scenario) {
  if (scenario.controllers != 1) return "it has several controllers";
  for (const sim::Interference& step : scenario.steps) {
    if (step.action != "check" && !known_actions.contains(step.action)) {
      return "nobody here knows how to " + step.action;
    }
  }
  return {};
}

ServerRun::ServerRun(const sim::Scenario& scenario, commands::Cluster& cluster, Server server,
                     double speed, std::vector<std::string> controller_flags)
    : scenario_(scenario),
      cluster_(cluster),
      loop_(cluster.loop()),
      speed_(speed),
      controller_flags_(std::move(controller_flags)),
      taken_(scenario.steps.size()) {
  if (std::string why = why_not_here(scenario); !why.empty()) throw std::runtime_error(why);
  kube::ConnectOptions options;
  options.kubeconfig = cluster.kubeconfig();
  options.version = "fleet";
  auto connected = kube::connect(options, {}, files_, processes_, loop_);
  if (!connected) throw std::runtime_error(connected.error().text());
  connection_ = std::move(*connected);
  sim::SimulatedFleetOptions simulated;
  simulated.fleet = scenario.fleet;
  simulated.fleet.workloads = sim::workloads_of(scenario, scenario.fleet.nodes);
  if (!scenario.machines.empty()) shorten_deadlines(simulated.fleet.upgrade_policy, speed);
  simulated.gpu_operator = scenario.gpu_operator;
  simulated.kubelets.latencies = scenario.latencies;
  simulated.kubelets.latencies.speed = speed;
  simulated.kubelets.lease_interval = seconds(10);
  if (server == Server::real) simulated.actors = sim::Actors::beside_controllers();
  fleet_ = std::make_unique<sim::SimulatedFleet>(sim::Parts{*connection_.api, loop_, random_, log_},
                                                 simulated);
  fleet_->start();
}

ServerRun::~ServerRun() { fleet_.reset(); }

Duration ServerRun::scaled(Duration duration) const {
  return nanoseconds(static_cast<int64_t>(static_cast<double>(duration.count()) / speed_));
}

void ServerRun::tick() {
  if (phase_ == Phase::over) return;
  if (fleet_->trouble()) trouble_.push_back(fleet_->trouble()->text());
  if (!trouble_.empty()) {
    phase_ = Phase::over;
    return;
  }
  auto nodes = look();
  if (nodes != nodes_) {
    nodes_ = std::move(nodes);
    changed_ = loop_.uptime();
  }
  auto all_done = [this] {
    return !nodes_.empty() && std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) {
      return node.second.state == "upgrade-done";
    });
  };
  switch (phase_) {
    case Phase::coming_up:
      if (!fleet_is_up()) return;
      doing_ = "gets in sync";
      cluster_.start_controller("controller", controller_flags_);
      phase_ = Phase::in_sync;
      return;
    case Phase::in_sync:
      if (!all_done() || !work_runs() || !quiet_for(seconds(1))) return;
      begin();
      doing_ = "runs";
      phase_ = Phase::running;
      return;
    case Phase::running: {
      take_due_steps();
      const bool all_taken = std::all_of(taken_.begin(), taken_.end(),
                                         [](const auto& when) { return when.has_value(); });
      const bool active = std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) {
        return fleet::is_active(fleet::state_of(node.second.state));
      });
      if (all_taken && !active && quiet_for(std::max(seconds(8), scaled(minutes(5))))) {
        doing_ = "is over";
        phase_ = Phase::over;
      }
      return;
    }
    case Phase::over:
      return;
  }
}

std::map<std::string, ServerRun::NodeFacts> ServerRun::look() {
  std::map<std::string, NodeFacts> facts;
  for (const Json& node : cluster_.list(resource::nodes)) {
    NodeFacts& one = facts[std::string(text_at(node, "metadata", "name"))];
    one.state = text_at(node, "metadata", "labels", commands::state_key);
    one.cordoned = as_bool(find(node, "spec", "unschedulable"));
    reached_[one.state].insert(std::string(text_at(node, "metadata", "name")));
  }
  return facts;
}

bool ServerRun::fleet_is_up() {
  if (!fleet_->running()) return false;
  auto sets = cluster_.list(resource::daemon_sets);
  return !sets.empty() && std::all_of(sets.begin(), sets.end(), [this](const Json& set) {
    return as_integer(find(set, "status", "numberAvailable")) == scenario_.fleet.nodes;
  });
}

bool ServerRun::work_runs() {
  for (const Json& deployment : cluster_.list(resource::deployments, "ml-training")) {
    if (as_integer(find(deployment, "status", "readyReplicas")) !=
        as_integer(find(deployment, "spec", "replicas"))) {
      return false;
    }
  }
  return true;
}

void ServerRun::begin() {
  for (const auto& [choice, behaviour] : scenario_.machines) {
    for (const std::string& name : choice.names(scenario_.fleet.nodes)) {
      fleet_->kubelets().set_behaviour(name, behaviour);
    }
  }
  reached_.clear();
  began_ = loop_.uptime();
  changed_ = began_;
  if (!scenario_.to_version.empty()) cluster_.set_version(scenario_.to_version);
}

bool ServerRun::is_due(size_t index) {
  const sim::Interference& step = scenario_.steps[index];
  const Duration now = loop_.uptime();
  if (now - began_ < scaled(step.at)) return false;
  if (step.after && (!taken_[index - 1] || now - *taken_[index - 1] < scaled(*step.after))) {
    return false;
  }
  if (step.rest && !quiet_for(scaled(minutes(5)))) return false;
  if (!step.state) return true;
  const auto nodes = static_cast<int64_t>(reached_[std::string(to_string(*step.state))].size());
  return nodes >= step.reached.of(scenario_.fleet.nodes, Rounding::up);
}

void ServerRun::take_due_steps() {
  for (size_t i = 0; i < scenario_.steps.size(); ++i) {
    if (taken_[i] || !is_due(i)) continue;
    taken_[i] = loop_.uptime();
    take(scenario_.steps[i]);
  }
}

void ServerRun::take(const sim::Interference& step) {
  const std::string& action = step.action;
  auto policy = [this](Json change) {
    patch(fleet::cluster_policies, "cluster-policy", std::move(change));
  };
  if (action == "check") return;
  if (action == "setVersion") return cluster_.set_version(std::string(as_text(&step.value)));
  if (action == "setPolicy") return cluster_.set_policy(print_json(step.value));
  if (action == "cosmeticChange") {
    return policy(
        JsonObject{{"spec", JsonObject{{"daemonsets", JsonObject{{"annotations", step.value}}}}}});
  }
  const fleet::Keys keys;
  for (const std::string& node : step.nodes.names(scenario_.fleet.nodes)) {
    auto label = [&](const std::string& key, Json value) {
      patch(resource::nodes, node,
            JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{key, std::move(value)}}}}}});
    };
    if (action == "repair") fleet_->kubelets().set_behaviour(node, {});
    if (action == "skip") label(keys.skip, "true");
    if (action == "unskip") label(keys.skip, nullptr);
    if (action == "retry") label(keys.state, Json(to_string(fleet::State::required)));
    if (action != "cordon" && action != "uncordon") continue;
    Json value = action == "cordon" ? Json(true) : Json(nullptr);
    patch(resource::nodes, node,
          JsonObject{{"spec", JsonObject{{"unschedulable", std::move(value)}}}});
  }
}

void ServerRun::patch(const ResourceType& type, const std::string& name, Json patch) {
  auto patched = kube::SyncApi(*connection_.api, loop_)
                     .patch(type, {"", name}, kube::PatchType::merge, std::move(patch));
  if (!patched) trouble_.push_back("a step failed: " + patched.error().text());
}

std::vector<std::string> ServerRun::disappointments() {
  std::vector<std::string> found = trouble_;
  const sim::Expectations& expect = scenario_.expect;
  auto wants = [&](bool holds, const std::string& what) {
    if (!holds) found.push_back("expected " + what);
  };
  std::set<std::string> failed;
  std::set<std::string> cordoned;
  size_t done = 0;
  for (const auto& [name, node] : nodes_) {
    done += node.state == "upgrade-done" ? 1 : 0;
    if (node.state == "upgrade-failed") failed.insert(name);
    if (node.cordoned) cordoned.insert(name);
    const sim::Machine& machine = fleet_->kubelets().machine(name);
    if (expect.version && node.state == "upgrade-done") {
      wants(machine.version() == *expect.version,
            fmt::format("{} on {}, and it is {}", *expect.version, name, machine.version()));
    }
  }
  auto names = [this](const sim::NodeChoice& choice) {
    auto list = choice.names(scenario_.fleet.nodes);
    return std::set<std::string>(list.begin(), list.end());
  };
  if (expect.done == "all") wants(done == nodes_.size(), "all nodes done");
  if (expect.done == "rest") wants(done + failed.size() == nodes_.size(), "all others done");
  if (expect.failed) {
    wants(static_cast<int64_t>(failed.size()) == *expect.failed,
          fmt::format("{} failed nodes, not {}", *expect.failed, failed.size()));
  }
  if (expect.failed_nodes) wants(failed == names(*expect.failed_nodes), "other nodes failed");
  if (expect.cordoned) wants(cordoned == names(*expect.cordoned), "other nodes cordoned");
  if (expect.work_runs) wants(work_runs(), "work that runs");
  for (const sim::Accident& accident : fleet_->kubelets().accidents()) {
    if (!accident.of_daemon_set) found.push_back(accident.node + ": " + accident.what);
  }
  return found;
}

std::vector<Json> ServerRun::objects() {
  std::vector<Json> all;
  for (const ResourceType& type : compared_types()) {
    for (Json& object : cluster_.list(type)) {
      // Items of a list do not say what they are.
      object.as_object()["kind"] = type.kind;
      object.as_object()["apiVersion"] = type.api_version();
      if (!is_ours(object)) continue;
      all.push_back(std::move(object));
    }
  }
  return all;
}

std::map<std::string, std::string> ServerRun::truth() {
  std::map<std::string, std::string> facts;
  for (const std::string& node : fleet_->kubelets().node_names()) {
    const sim::Machine& machine = fleet_->kubelets().machine(node);
    facts[node] = machine.loaded() ? machine.version() : "no driver";
  }
  facts["accidents"] = std::to_string(fleet_->kubelets().accidents().size());
  return facts;
}

}  // namespace lockstep::real
