// A FleetWatch over a fleet of which a test says everything.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "fleet/reason_test_util.h"
#include "kube/fake_api_test_util.h"
#include "view/fleet_objects_test_util.h"
#include "view/fleet_watch.h"
#include "world/virtual_loop.h"

namespace lockstep::view {

// The API is one that takes whatever a test puts into it.
struct WatchedFleet {
  explicit WatchedFleet(FleetWatchOptions options = {}, uint64_t seed = 1) : loop(seed) {
    watch = std::make_unique<FleetWatch>(api, loop, random, log, std::move(options));
    watch->on_node([this](const std::string& node) { ++looked_at[node]; });
    watch->on_pool([this] { ++pools; });
  }

  void start() {
    watch->start();
    settle();
  }
  void settle() { loop.run_for(seconds(1)); }
  Document put(const ResourceType& type, const ObjectKey& key, Json object) {
    return api.put(type, key, std::move(object));
  }
  void add_node(const std::string& name, std::string_view patch = "{}") {
    put(resource::nodes, {"", name}, merged(node_json(name), patch));
  }
  void patch_node(const std::string& name, std::string_view patch) {
    put(resource::nodes, {"", name}, merged(*api.objects(resource::nodes).at({"", name}), patch));
  }
  void add_state(const std::string& name, fleet::State state) {
    patch_node(name, fmt::format(R"({{"metadata":{{"labels":{{"{}":"{}"}}}}}})",
                                 fleet::Keys().state, to_string(state)));
  }
  // With its uid, which owners name.
  void add_set(std::string_view ns, std::string_view name,
               std::string_view selector = R"({"nvidia.com/gpu.deploy.driver":"true"})") {
    put(resource::daemon_sets, {std::string(ns), std::string(name)},
        merged(daemon_set_json(ns, name, selector),
               fmt::format(R"({{"metadata":{{"uid":"uid-{}"}}}})", name)));
  }
  void add_revision(std::string_view hash, int64_t number, std::string_view set = driver_set) {
    put(resource::controller_revisions, {std::string(operator_ns), fmt::format("{}-{}", set, hash)},
        revision_json(set, fmt::format("uid-{}", set), hash, number));
  }
  void add_pod(std::string_view ns, std::string_view set, const std::string& name,
               std::string_view node, std::string_view revision = {},
               std::string_view patch = "{}") {
    Json pod = daemon_pod_json(ns, set, fmt::format("uid-{}", set), name, node, revision);
    apply_merge_patch(pod, ready_status(loop.now()));
    put(resource::pods, {std::string(ns), name}, merged(std::move(pod), patch));
  }
  void add_driver(const std::string& name, std::string_view node, std::string_view revision = "r1",
                  std::string_view patch = "{}") {
    add_pod(operator_ns, driver_set, name, node, revision, patch);
  }
  void add_policy(std::string_view upgrade_policy, std::string_view patch = "{}") {
    put(cluster_policies, {"", "cluster-policy"},
        merged(cluster_policy_json(upgrade_policy), patch));
  }
  // One node, its driver in sync, and a policy.
  void add_usual() {
    add_policy(R"({"autoUpgrade":true})");
    add_set(operator_ns, driver_set);
    add_revision("r1", 1);
    add_node("gpu-1");
    add_driver("driver-1", "gpu-1");
  }
  fleet::NodeView view(const std::string& node = "gpu-1") {
    auto view = watch->view(node);
    EXPECT_TRUE(view) << node;
    return view ? *view : fleet::NodeView{};
  }

  VirtualLoop loop;
  SeededRandom random{1};
  SilentLog log;
  kube::FakeApi api{loop};
  std::map<std::string, int> looked_at;
  int pools = 0;
  std::unique_ptr<FleetWatch> watch;
};

}  // namespace lockstep::view
