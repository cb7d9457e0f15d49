// A small fleet with an invariant checker, and functions that act as a controller would: to break
// invariants one by one.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/actors/sim_test_util.h"
#include "sim/oracle/witness.h"

namespace lockstep::sim {

class InvariantTest : public ::testing::Test {
 protected:
  using State = fleet::State;

  void start(Json policy = JsonObject{{"autoUpgrade", true}}, WorkloadOptions workloads = {}) {
    ClusterOptions options = fleet_of(4);
    options.simulated.fleet.upgrade_policy = std::move(policy);
    options.simulated.fleet.workloads = workloads;
    cluster.emplace(options);
    ASSERT_TRUE(cluster->start());
    // Whatever was made at the start is old news.
    cluster->loop.run_for(minutes(1));
    WitnessOptions witnessing;
    witnessing.blindness = blindness;
    witness.emplace(*cluster, witnessing);
  }

  // By the controller.
  int act(const kube::Request& request) {
    apiserver::Caller controller{"lockstep", {}, "lockstep"};
    return apiserver::response_of(apiserver::handle(cluster->backend, request, controller)).code;
  }
  void patch(const std::string& node, Json patch) {
    EXPECT_EQ(act(merge_patch(resource::nodes, {"", node}, std::move(patch))), 200);
  }
  // As a user.
  void meddle(const std::string& node, Json patch) {
    EXPECT_TRUE(cluster->call(merge_patch(resource::nodes, {"", node}, std::move(patch))));
  }
  static Json annotations(JsonObject values) {
    return JsonObject{{"metadata", JsonObject{{"annotations", std::move(values)}}}};
  }
  Json label(State state) const {
    return JsonObject{
        {"metadata", JsonObject{{"labels", JsonObject{{keys.state, to_string(state)}}}}}};
  }

  // A whole step, as the controller makes it: the label, times and cordon in one patch.
  Json step(State to, JsonObject more = {}) const {
    bool held = fleet::is_active(to) && to != State::cordon && to != State::uncordon;
    JsonObject annotated = std::move(more);
    annotated[fleet::since_annotation] = format_rfc3339(cluster->loop.now());
    std::string now = std::to_string(cluster->loop.now().unix_seconds());
    annotated[keys.wait_start] = to == State::wait_for_jobs ? Json(now) : Json();
    annotated[keys.validation_start] = to == State::validation ? Json(now) : Json();
    Json patch = annotations(std::move(annotated));
    deep_merge(patch, label(to));
    if (held) patch.as_object()["spec"] = JsonObject{{"unschedulable", true}};
    if (to == State::done) patch.as_object()["spec"] = JsonObject{{"unschedulable", nullptr}};
    return patch;
  }
  void go(const std::string& node, const std::vector<State>& states) {
    for (State state : states) patch(node, step(state));
  }
  // A new driver for all, long enough ago for every controller to know.
  void change_driver() {
    EXPECT_TRUE(cluster->set_driver_version(new_version));
    cluster->loop.run_for(seconds(20));
  }
  // As far as the restart of the driver.
  void go_to_restart(const std::string& node) {
    go(node, {State::required, State::cordon, State::wait_for_jobs, State::pod_deletion,
              State::pod_restart});
  }
  void set_driver_strategy(std::string_view type) {
    JsonObject strategy{{"type", type}};
    EXPECT_TRUE(cluster->call(
        merge_patch(resource::daemon_sets,
                    {std::string(operator_namespace), std::string(driver_daemon_set_name)},
                    JsonObject{{"spec", JsonObject{{"updateStrategy", std::move(strategy)}}}})));
  }
  ObjectKey pod_on(std::string_view daemon_set, const std::string& node) {
    return pod_of(*cluster, daemon_set, node).meta.key();
  }
  int remove(const ObjectKey& pod) { return act(kube::remove(resource::pods, pod)); }
  int evict(const ObjectKey& pod) {
    kube::Request request = kube::create(
        resource::pods, pod.ns,
        JsonObject{{"apiVersion", "policy/v1"},
                   {"kind", "Eviction"},
                   {"metadata", JsonObject{{"name", pod.name}, {"namespace", pod.ns}}}});
    request.name = pod.name;
    request.subresource = "eviction";
    return act(request);
  }
  void restart_driver(const std::string& node) {
    EXPECT_EQ(remove(pod_on(driver_daemon_set_name, node)), 200);
  }
  void restart_client(const std::string& node) {
    EXPECT_EQ(remove(pod_on(dra_daemon_set_name, node)), 200);
  }

  // What was seen to be wrong; by these invariants alone, where a test says which ones it is about.
  std::vector<std::string> violations() const {
    std::vector<std::string> seen = witness->violations();
    std::erase_if(seen, [&](const std::string& text) {
      return !invariants.empty() &&
             std::none_of(invariants.begin(), invariants.end(), [&](const std::string& name) {
               return text.find("(" + name + ")") != std::string::npos;
             });
    });
    return seen;
  }
  void expect_innocent() { EXPECT_EQ(violations(), std::vector<std::string>{}); }
  // The only thing that was seen to be wrong.
  void expect_violation(const std::string& text) {
    const std::vector<std::string> seen = violations();
    ASSERT_EQ(seen.size(), 1) << (seen.empty() ? std::string() : seen.back());
    EXPECT_NE(seen.front().find(text), std::string::npos) << seen.front();
  }

  std::vector<std::string> invariants;
  Duration blindness = seconds(5);

  fleet::Keys keys;
  std::optional<Cluster> cluster;
  std::optional<Witness> witness;
};

}  // namespace lockstep::sim
