// A fleet of values for tests of forward runs: every node runs "old", and "new" is the newest.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "data/yaml.h"
#include "fleet/reason_test_util.h"
#include "rollout/forward_run.h"
#include "upgrade/upgrade_test_util.h"

namespace lockstep::rollout {

class ForwardFleetTest {
 public:
  explicit ForwardFleetTest(int nodes, const std::string& rollout_spec = "") {
    // 08:00 UTC.
    snapshot.now = Time::from_unix(1'800'000'000);
    snapshot.pools[""].policy = upgrade::read_policy(nullptr, "ClusterPolicy test");
    set_ = std::make_shared<DaemonSet>();
    set_->meta.ns = "gpu-operator";
    set_->meta.name = "nvidia-driver";
    set_->meta.uid = "uid-driver-set";
    set_->pod_template.spec = upgrade::make_driver_pod("new").spec;
    for (int i = 1; i <= nodes; ++i) add_node(i);
    if (!rollout_spec.empty()) add_rollout(rollout_spec);
  }

  upgrade::Policy& policy() { return snapshot.pools[""].policy; }
  ForwardRollout& rollout() { return snapshot.rollouts.at("driver"); }
  ForwardNode& node(int number) { return snapshot.nodes.at(static_cast<size_t>(number - 1)); }

  void label(int number, const std::string& key, const std::string& value) {
    change(number, [&](Node& changed) { changed.meta.labels.set(Text(key), Text(value)); });
  }
  void skip(int number) { label(number, snapshot.rules.keys.skip, "true"); }
  void set_state(int number, fleet::State state, Duration ago) {
    label(number, snapshot.rules.keys.state, std::string(to_string(state)));
    change(number, [&](Node& changed) {
      changed.unschedulable = fleet::is_active(state) || state == fleet::State::failed;
      changed.meta.annotations.set(Text(fleet::since_annotation),
                                   Text(format_rfc3339(snapshot.now - ago)));
      if (changed.unschedulable) {
        changed.meta.annotations.set(Text(fleet::cordon_annotation), Text(fleet::our_cordon));
      }
    });
  }
  void fail(int number) {
    set_state(number, fleet::State::failed, hours(1));
    change(number, [&](Node& changed) {
      changed.meta.annotations.set(Text(fleet::failure_annotation), "GateFailed: too slow");
      changed.meta.annotations.set(Text(fleet::failed_revision_annotation), "new");
    });
  }
  // Its driver pod is of this revision, and has been validated.
  void run_revision(int number, const std::string& revision) {
    Pod pod = *node(number).view.driver.pod;
    pod.meta.labels.set(Text(fleet::revision_label), Text(revision));
    change(number, [&](Node& changed) {
      changed.meta.annotations.set(Text(fleet::driver_pod_annotation), pod.meta.uid);
    });
    node(number).view.driver.pod = upgrade::share(std::move(pod));
  }
  void set_newest(const std::string& revision) {
    for (ForwardNode& each : snapshot.nodes) each.view.driver.newest_revision = Text(revision);
    for (auto& [name, each] : snapshot.rollouts) set_target(each.view, revision);
  }

  void add_gpu_pod(int number, const std::string& name, const std::string& kind = "ReplicaSet") {
    Pod pod = upgrade::make_pod(name);
    pod.meta.owners = {{"apps/v1", Text(kind), "work", "uid-work", true}};
    pod.meta.labels = {{"app", "web"}};
    node(number).view.pods.push_back(upgrade::gpu_pod(std::move(pod)));
  }
  void add_bare_pod(int number, const std::string& name) {
    node(number).view.pods.push_back(
        upgrade::gpu_pod(upgrade::without_controller(upgrade::make_pod(name))));
  }
  void take_pod(int number, const std::string& name) {
    std::erase_if(node(number).view.pods,
                  [&](const auto& entry) { return entry.pod->meta.name == name; });
  }
  void add_budget(const std::string& ns, int32_t allowed) {
    auto budget = std::make_shared<PodDisruptionBudget>();
    budget->meta.ns = Text(ns);
    budget->meta.name = "web-budget";
    budget->selector = upgrade::selector("app=web");
    budget->disruptions_allowed = allowed;
    snapshot.budgets.push_back(std::move(budget));
  }

  Plan plan(const Pace& pace = {}) const { return run_forward(snapshot, pace); }
  // In minutes, in the order of the plan; -1: it does not start.
  std::vector<int64_t> starts() const {
    std::vector<int64_t> all;
    for (const PlannedNode& each : plan().nodes) all.push_back(in_minutes(each.start));
    return all;
  }
  const PlannedNode& node_of(const Plan& plan, int number) const {
    const std::string name = fmt::format("gpu-{}", number);
    auto at = std::find_if(plan.nodes.begin(), plan.nodes.end(),
                           [&](const PlannedNode& each) { return each.name == name; });
    static const PlannedNode none;
    EXPECT_NE(at, plan.nodes.end()) << name;
    return at == plan.nodes.end() ? none : *at;
  }
  int64_t start_of(const Plan& plan, int number) const {
    return in_minutes(node_of(plan, number).start);
  }
  static std::vector<std::string> names(const Plan& plan) {
    std::vector<std::string> all;
    for (const PlannedNode& each : plan.nodes) all.push_back(each.name);
    return all;
  }
  static bool says(const Plan& plan, const std::string& text) {
    return std::any_of(plan.events.begin(), plan.events.end(), [&](const PlannedEvent& event) {
      return event.text.find(text) != std::string::npos;
    });
  }

  Snapshot snapshot;

 private:
  static int64_t in_minutes(const std::optional<Duration>& time) {
    return time ? *time / minutes(1) : -1;
  }
  void change(int number, const auto& how) {
    auto changed = std::make_shared<Node>(*node(number).view.node);
    how(*changed);
    node(number).view.node = std::move(changed);
  }

  void add_node(int number) {
    const std::string name = fmt::format("gpu-{}", number);
    auto object = std::make_shared<Node>();
    object->meta.name = Text(name);
    object->meta.created = snapshot.now - hours(9);
    object->meta.labels.set(Text(snapshot.rules.keys.state), "upgrade-done");
    object->meta.labels.set(Text(gpu_model_label), "H100");
    object->conditions = {{"Ready", "True", "KubeletReady", "", snapshot.now - hours(9)}};
    ForwardNode node;
    node.view.node = std::move(object);
    node.view.driver.set = set_;
    node.view.driver.newest_revision = "new";
    Pod driver = upgrade::make_driver_pod("old", snapshot.now - hours(8));
    driver.meta.name = Text("driver-" + name);
    driver.meta.uid = Text("uid-driver-" + name);
    node.view.driver.pod = upgrade::share(std::move(driver));
    node.view.validators = {
        upgrade::share(upgrade::make_daemon_pod("validator-" + name, snapshot.now - hours(7)))};
    node.gpus = 8;
    node.busy = node.reports_health = true;
    snapshot.nodes.push_back(std::move(node));
  }

  static DriverRevision revision(const std::string& hash) {
    const std::string version = hash == "old" ? "570" : "580";
    return {{{"gpu-operator/nvidia-driver", hash}},
            version,
            DriverFields{JsonObject{{"version", version}}}};
  }
  static void set_target(RolloutView& view, const std::string& hash) {
    view.target = revision(hash);
    view.object = view.target.fields;
  }

  void add_rollout(const std::string& spec) {
    auto json = parse_yaml(
        "spec:\n  driver: {kind: ClusterPolicy, name: cluster-policy}\n" + indented(spec), "test");
    EXPECT_TRUE(json) << (json ? "" : json.error().text());
    ForwardRollout& rollout = snapshot.rollouts["driver"];
    RolloutView& view = rollout.view;
    view.name = "driver";
    view.generation = 1;
    view.spec = read_rollout_spec(*json);
    view.recorded.resize(view.spec.waves.size());
    view.baselines.resize(view.spec.waves.size());
    set_target(view, "new");
    view.status.stable = revision("old");
    RolloutGate& gate = rollout.gate;
    gate.rollout = "driver";
    gate.paused = view.spec.paused;
    gate.windows = view.spec.windows;
    gate.group_by = view.spec.group_by;
    for (const WaveSpec& wave : view.spec.waves) gate.wave_names.push_back(wave.name);
    snapshot.zones = [](const std::string& name) -> Result<TimeZone> {
      return lockstep::fail(ErrorKind::not_found, "there is no zone " + name);
    };
    snapshot.pools[""].rollout = "driver";
    for (ForwardNode& each : snapshot.nodes) each.rollout = "driver";
  }
  static std::string indented(const std::string& spec) {
    std::string out = "  ";
    for (char letter : spec) {
      out += letter;
      if (letter == '\n') out += "  ";
    }
    return out;
  }

  std::shared_ptr<DaemonSet> set_;
};

}  // namespace lockstep::rollout
