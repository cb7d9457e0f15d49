#include "controller/reroller.h"

#include "controller/controller_test_util.h"

namespace lockstep::controller::reroller_test {
namespace {

using Kind = RerollOutcome::Kind;
using kube::ScriptedFaults;
using kube::Verb;

// The roles of the hook as its chart writes them. Whatever else is asked for is refused, and kept.
class RoleApi final : public kube::Api {
 public:
  RoleApi(kube::Api& inner, Loop& loop) : inner_(inner), loop_(loop) {}

  void call(kube::Request request, kube::ReplyCallback done) override {
    bool reads = request.verb == Verb::get || request.verb == Verb::list;
    bool deletes = request.verb == Verb::remove && request.type == resource::pods &&
                   request.ns == plugin_ns && !takes_deleting_away;
    bool allowed = (reads && may_read(request.type, request.ns)) || deletes;
    if (allowed && request.subresource.empty()) {
      if (deletes) deletions.push_back(request);
      return inner_.call(std::move(request), std::move(done));
    }
    refused.push_back(request.describe());
    loop_.post([done = std::move(done)] { done(kube::Response{403, forbidden(), {}}); });
  }
  std::unique_ptr<kube::Watch> watch(kube::WatchRequest request,
                                     kube::WatchHandler handler) override {
    if (!may_read(request.type, request.ns)) refused.push_back("watch " + request.type.plural);
    return inner_.watch(std::move(request), std::move(handler));
  }

  std::vector<std::string> refused;
  std::vector<kube::Request> deletions;
  bool takes_deleting_away = false;
  std::optional<ResourceType> hidden;

 private:
  bool may_read(const ResourceType& type, const std::string& ns) const {
    if (hidden && type == *hidden) return false;
    if (type == resource::nodes || type == cluster_policies) return ns.empty();
    bool is_kind = type == resource::pods || type == resource::daemon_sets;
    return is_kind && (ns == operator_ns || ns == plugin_ns);
  }
  static Document forbidden() {
    return std::make_shared<const Json>(
        json_of(R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":403,
                    "reason":"Forbidden","message":"the role does not allow it"})"));
  }
  kube::Api& inner_;
  Loop& loop_;
};

// A fleet with a DRA plugin on every node, younger than the driver; the scene recreates its pods.
class RerollScene {
 public:
  explicit RerollScene(FleetSetup setup = {}, bool plugins = true)
      : fleet(setup),
        nodes_(setup.nodes),
        inner_(fleet.backend, {"hook", {}, "hook"}),
        fault_api_(inner_, fleet.loop, faults),
        role(fault_api_, fleet.loop) {
    observe_driver(setup.nodes);
    listener_ = fleet.backend.store.add_listener(
        [this](const std::string& storage, const apiserver::Change& change) {
          if (storage == "pods") on_pod(change);
        });
    fleet.loop.run_for(seconds(10));
    if (!plugins) return;
    Json set = fleet.must(kube::create(resource::daemon_sets, std::string(plugin_ns),
                                       daemon_set_json(plugin_ns, plugin_set)));
    plugin_uid_ = text_at(set, "metadata", "uid");
    for (int i = 1; i <= setup.nodes; ++i) create_plugin(fmt::format("gpu-{}", i));
    fleet.loop.run_for(seconds(10));
  }
  ~RerollScene() { fleet.backend.store.remove_listener(listener_); }
  RerollScene(const RerollScene&) = delete;
  RerollScene& operator=(const RerollScene&) = delete;

  // The operator changes the template; the DaemonSet controller has not reconciled yet.
  void change_template() {
    fleet.must(
        kube::patch(resource::daemon_sets, {std::string(operator_ns), std::string(driver_set)},
                    kube::PatchType::merge,
                    json_of(fmt::format(R"({{"spec":{{"template":{{"metadata":{{"annotations":
                                {{"round":"{}"}}}}}}}}}})",
                                        ++round_))));
  }
  // The DaemonSet controller has reconciled, and `updated` pods are new.
  void observe_driver(int64_t updated) {
    ObjectKey key{std::string(operator_ns), std::string(driver_set)};
    Json set = fleet.must(kube::get(resource::daemon_sets, key));
    kube::Request status =
        kube::patch(resource::daemon_sets, key, kube::PatchType::merge,
                    json_of(fmt::format(
                        R"({{"status":{{"observedGeneration":{},"desiredNumberScheduled":{},
                                "currentNumberScheduled":{},"numberMisscheduled":0,"numberReady":0,
                                "updatedNumberScheduled":{}}}}})",
                        as_integer(find(set, "metadata", "generation")), nodes_, nodes_, updated)));
    status.subresource = "status";
    fleet.must(status);
  }
  void delete_pod(std::string_view ns, std::string_view set, const std::string& node) {
    for (const auto& pod : fleet.list(resource::pods, std::string(ns))) {
      if (text_at(*pod, "metadata", "labels", "app") != set) continue;
      if (text_at(*pod, "spec", "nodeName") != node) continue;
      fleet.must(kube::remove(resource::pods, {std::string(ns), name_of(*pod)}));
    }
  }
  // Its driver pod is deleted and comes back: all that is older is stale from then on.
  void restart_driver(const std::string& node) { delete_pod(operator_ns, driver_set, node); }
  // A whole upgrade, of these nodes only.
  void upgrade(const std::vector<std::string>& names) {
    change_template();
    observe_driver(nodes_ - static_cast<int64_t>(names.size()));
    for (const auto& name : names) restart_driver(name);
    fleet.loop.run_for(seconds(10));
    observe_driver(nodes_);
  }

  void begin(RerollOptions options = {}) {
    reroller.reset();
    reroller =
        std::make_unique<Reroller>(role, fleet.loop, random_, log, std::move(options),
                                   [this](const std::string& line) { said.push_back(line); });
    reroller->start();
  }
  // Until it is over.
  RerollOutcome finish(Duration limit = hours(1)) {
    EXPECT_TRUE(fleet.run_until([&] { return reroller->outcome().has_value(); }, limit));
    return reroller->outcome().value_or(RerollOutcome());
  }
  RerollOutcome run(RerollOptions options = {}) {
    begin(std::move(options));
    return finish();
  }
  // The plugin pod of each node.
  std::map<std::string, std::string> plugins() {
    std::map<std::string, std::string> names;
    for (const auto& pod : fleet.list(resource::pods, std::string(plugin_ns))) {
      names[std::string(text_at(*pod, "spec", "nodeName"))] = name_of(*pod);
    }
    return names;
  }
  bool said_something_with(std::string_view text) const {
    return std::any_of(said.begin(), said.end(), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  }

  TestFleet fleet;
  kube::ScriptedFaults faults;
  std::set<std::string> never_ready;  // nodes whose next plugins stay so

 private:
  static std::string name_of(const Json& object) {
    return std::string(text_at(object, "metadata", "name"));
  }
  void create_plugin(const std::string& node) {
    std::string name = fmt::format("{}-{}", plugin_set, next_++);
    fleet.must(kube::create(resource::pods, std::string(plugin_ns),
                            daemon_pod_json(plugin_ns, plugin_set, plugin_uid_, name, node)));
    if (never_ready.contains(node)) return;
    kube::Request status = kube::patch(resource::pods, {std::string(plugin_ns), name},
                                       kube::PatchType::merge, ready_status(fleet.loop.now()));
    status.subresource = "status";
    fleet.must(status);
  }
  void on_pod(const apiserver::Change& change) {
    if (change.type != kube::WatchEventType::deleted) return;
    const Json& pod = change.object->json();
    if (text_at(pod, "metadata", "namespace") != plugin_ns) return;
    std::string node(text_at(pod, "spec", "nodeName"));
    fleet.loop.after(seconds(3), scope_.bind([this, node] {
      if (fleet.exists(resource::nodes, {"", node})) create_plugin(node);
    }));
  }

  int64_t nodes_;
  int round_ = 0;
  int next_ = 1;
  std::string plugin_uid_;
  uint64_t listener_ = 0;
  apiserver::InProcessApi inner_;
  kube::FaultApi fault_api_;
  SeededRandom random_{5};

 public:
  RoleApi role;
  MemoryLog log;
  std::vector<std::string> said;
  std::unique_ptr<Reroller> reroller;

 private:
  Scope scope_;
};

FleetSetup fleet_of(int nodes, bool definitions = true) {
  FleetSetup setup;
  setup.nodes = nodes;
  setup.definitions = definitions;
  return setup;
}

TEST(Reroller, WithoutAPluginADriverOrANodeThereIsNothingToDoAndItSaysSoAtOnce) {
  RerollScene no_plugin({}, false);
  RerollScene no_driver;
  no_driver.fleet.must(kube::remove(cluster_policies, {"", "cluster-policy"}));
  no_driver.fleet.must(
      kube::remove(resource::daemon_sets, {std::string(operator_ns), std::string(driver_set)}));
  no_driver.fleet.loop.run_for(seconds(10));
  RerollScene no_node(fleet_of(0));
  std::vector<std::pair<RerollScene*, std::string>> cases = {
      {&no_plugin, "nothing to do: no DaemonSet of a DRA plugin exists"},
      {&no_driver, "nothing to do: the operator manages no driver"},
      {&no_node, "nothing to do: no GPU node exists"}};
  for (auto& [scene, text] : cases) {
    scene->begin();
    RerollOutcome outcome = scene->finish(seconds(3));
    EXPECT_EQ(outcome.kind, Kind::nothing_to_do) << outcome.text;
    EXPECT_EQ(outcome.text, text);
    EXPECT_TRUE(scene->role.deletions.empty());
  }
}

TEST(Reroller, APodThatIsNewerThanItsDriverIsNotTouched) {
  RerollScene scene;
  auto before = scene.plugins();
  RerollOutcome outcome = scene.run();
  EXPECT_EQ(outcome.kind, Kind::rerolled) << outcome.text;
  EXPECT_EQ(outcome.text, "no plugin pod is older than its node's driver");
  EXPECT_TRUE(scene.role.deletions.empty());
  EXPECT_EQ(scene.plugins(), before);
}

TEST(Reroller, ItWaitsForTheMigrationAndThenRestartsOnlyTheStaleOnes) {
  RerollScene scene(fleet_of(4));
  auto before = scene.plugins();
  scene.change_template();
  scene.begin();
  scene.fleet.loop.run_for(minutes(2));
  scene.observe_driver(2);
  scene.restart_driver("gpu-2");
  scene.fleet.loop.run_for(minutes(3));
  EXPECT_FALSE(scene.reroller->outcome());
  EXPECT_TRUE(scene.role.deletions.empty());
  scene.restart_driver("gpu-4");
  scene.fleet.loop.run_for(seconds(10));
  scene.observe_driver(4);
  RerollOutcome outcome = scene.finish();
  EXPECT_EQ(outcome.kind, Kind::rerolled) << outcome.text;
  EXPECT_EQ(scene.reroller->restarted().size(), 2u);
  auto after = scene.plugins();
  for (const auto& [node, pod] : before) {
    EXPECT_EQ(after[node] != pod, node == "gpu-2" || node == "gpu-4") << node;
  }
  EXPECT_TRUE(scene.said_something_with("2 of 4 driver pods have an older revision"));
  for (size_t i = 1; i < scene.said.size(); ++i) EXPECT_NE(scene.said[i], scene.said[i - 1]);
}

TEST(Reroller, AnOperatorThatHasNotBegunYetIsWaitedFor) {
  RerollScene scene;
  scene.begin();
  scene.fleet.loop.run_for(seconds(20));
  EXPECT_FALSE(scene.reroller->outcome());
  scene.upgrade({"gpu-1", "gpu-2", "gpu-3"});
  RerollOutcome outcome = scene.finish();
  EXPECT_EQ(outcome.text, "restarted 3 plugin pods; all are ready");
}

TEST(Reroller, AMigrationThatDoesNotEndInTimeIsAFailureThatNamesWhatIsMissing) {
  RerollScene scene;
  scene.fleet.patch_node(
      "gpu-2",
      R"({"metadata":{"labels":{"nvidia.com/gpu-driver-upgrade-state":"upgrade-failed"}}})");
  Duration began = scene.fleet.loop.uptime();
  RerollOutcome outcome = scene.run();
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->kind, ErrorKind::timed_out);
  EXPECT_NE(outcome.text.find("did not finish within 20m: 3 of 3 nodes are not done"),
            std::string::npos)
      << outcome.text;
  EXPECT_NE(outcome.text.find("gpu-2 (upgrade-failed)"), std::string::npos) << outcome.text;
  EXPECT_GE(scene.fleet.loop.uptime() - began, minutes(20));
  EXPECT_TRUE(scene.role.deletions.empty());
}

TEST(Reroller, ARolloutThatDoesNotEndInTimeIsAFailureThatNamesTheStaleOnes) {
  RerollScene scene;
  scene.upgrade({"gpu-1"});
  scene.faults.on_call(ScriptedFaults::calls(Verb::remove, resource::pods),
                       {kube::Fault::server_error, {}, {}, {}, {}}, 10000);
  RerollOutcome outcome = scene.run();
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->kind, ErrorKind::timed_out);
  EXPECT_NE(outcome.text.find("within 5m: 1 plugin pod is older than its node's driver: gpu-1"),
            std::string::npos)
      << outcome.text;
  EXPECT_NE(outcome.text.find("last error: delete pod"), std::string::npos) << outcome.text;
}

TEST(Reroller, AReplacementThatNeverBecomesReadyIsAFailureThatNamesIt) {
  RerollScene scene;
  auto before = scene.plugins();
  scene.upgrade({"gpu-1", "gpu-2", "gpu-3"});
  scene.never_ready = {"gpu-3"};
  RerollOutcome outcome = scene.run();
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->kind, ErrorKind::timed_out);
  auto after = scene.plugins();
  EXPECT_NE(outcome.text.find("1 plugin pod is not ready: gpu-3 (nvidia-dra-driver/" +
                              after["gpu-3"] + " is not ready)"),
            std::string::npos)
      << outcome.text;
  for (const auto& [node, pod] : before) EXPECT_NE(after[node], pod) << node;
  EXPECT_EQ(scene.reroller->restarted().size(), 3u);
}

TEST(Reroller, AReplacementThatDoesNotComeUpStopsTheRestBeforeItReachesThem) {
  RerollScene scene;
  scene.upgrade({"gpu-1", "gpu-2", "gpu-3"});
  scene.never_ready = {"gpu-1"};
  RerollOutcome outcome = scene.run();
  EXPECT_EQ(outcome.kind, Kind::failed);
  EXPECT_EQ(scene.reroller->restarted().size(), 1u);
  EXPECT_NE(outcome.text.find("2 plugin pods are older"), std::string::npos) << outcome.text;
}

TEST(Reroller, WhatItMayNotDoIsAFailureAtOnce) {
  for (const ResourceType& type : {resource::nodes, resource::daemon_sets, cluster_policies}) {
    RerollScene scene;
    scene.role.hidden = type;
    scene.begin();
    RerollOutcome outcome = scene.finish(seconds(5));
    ASSERT_TRUE(outcome.error) << type.plural;
    EXPECT_EQ(outcome.error->kind, ErrorKind::forbidden) << outcome.text;
  }
  RerollScene deleting;
  deleting.upgrade({"gpu-1"});
  deleting.role.takes_deleting_away = true;
  deleting.begin();
  RerollOutcome outcome = deleting.finish(minutes(1));
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->kind, ErrorKind::forbidden) << outcome.text;
  EXPECT_NE(outcome.text.find("delete pod nvidia-dra-driver/"), std::string::npos) << outcome.text;
}

TEST(Reroller, TroubleThatPassesIsNoFailure) {
  RerollScene scene;
  scene.upgrade({"gpu-1", "gpu-3"});
  for (kube::Fault fault : {kube::Fault::server_error, kube::Fault::throttled,
                            kube::Fault::request_lost, kube::Fault::reply_lost}) {
    kube::CallPlan plan;
    plan.fault = fault;
    scene.faults.on_call(ScriptedFaults::calls(Verb::list, resource::pods), plan, 2);
    scene.faults.on_call(ScriptedFaults::calls(Verb::list, resource::nodes), plan, 1);
    scene.faults.on_call(ScriptedFaults::calls(Verb::remove, resource::pods), plan, 1);
  }
  RerollOutcome outcome = scene.run();
  EXPECT_EQ(outcome.kind, Kind::rerolled) << outcome.text;
  EXPECT_EQ(scene.faults.unused(), 0u);
  RerollOutcome again = scene.run();
  EXPECT_EQ(again.text, "no plugin pod is older than its node's driver");
}

TEST(Reroller, AClusterThatCannotBeReachedUntilTheEndIsUnreachable) {
  RerollScene scene;
  kube::CallPlan plan;
  plan.fault = kube::Fault::request_lost;
  scene.faults.on_call(ScriptedFaults::calls(Verb::list, resource::nodes), plan, 100000);
  RerollOutcome outcome = scene.run();
  ASSERT_TRUE(outcome.error);
  EXPECT_TRUE(outcome.error->kind == ErrorKind::unreachable ||
              outcome.error->kind == ErrorKind::timed_out);
  EXPECT_NE(outcome.text.find("could not be read in 20m: nodes ("), std::string::npos)
      << outcome.text;
}

TEST(Reroller, AViewThatIsNotKeptUpToDateIsNotBelieved) {
  RerollScene scene;
  kube::WatchPlan plan;
  plan.begin = kube::Fault::server_error;
  scene.faults.on_watch(
      [](const kube::WatchRequest& request) {
        return request.type == resource::pods && request.ns == operator_ns;
      },
      plan, 100000);
  RerollOutcome outcome = scene.run();
  ASSERT_TRUE(outcome.error) << outcome.text;
  EXPECT_NE(outcome.text.find("did not finish within 20m: the watches did not reconnect"),
            std::string::npos)
      << outcome.text;
}

TEST(Reroller, KilledAtAnyMomentAndRunAgainItEndsTheSame) {
  for (int64_t killed_after = 0; killed_after < 60; killed_after += 4) {
    RerollScene scene;
    scene.upgrade({"gpu-1", "gpu-2", "gpu-3"});
    scene.begin();
    scene.fleet.loop.run_for(seconds(killed_after));
    RerollOutcome outcome = scene.run();
    EXPECT_EQ(outcome.kind, Kind::rerolled) << killed_after << ": " << outcome.text;
    // No plugin was restarted twice.
    EXPECT_EQ(scene.role.deletions.size(), 3u) << killed_after;
    EXPECT_EQ(scene.plugins().size(), 3u) << killed_after;
  }
}

TEST(Reroller, ADriverThatRestartsOnceMoreMakesItsPluginStaleAgain) {
  RerollScene scene;
  scene.upgrade({"gpu-1", "gpu-2", "gpu-3"});
  scene.begin();
  ASSERT_TRUE(
      scene.fleet.run_until([&] { return scene.reroller->restarted().size() == 2; }, minutes(2)));
  scene.restart_driver("gpu-1");
  RerollOutcome outcome = scene.finish();
  EXPECT_EQ(outcome.kind, Kind::rerolled) << outcome.text;
  EXPECT_EQ(scene.reroller->restarted().size(), 4u);
}

// However fast it comes back: its time must not be the driver's own second.
TEST(Reroller, RunAgainAtOnceItFindsNothingStale) {
  RerollScene scene;
  scene.upgrade({"gpu-1", "gpu-2", "gpu-3"});
  RerollOutcome outcome = scene.run();
  EXPECT_EQ(scene.reroller->restarted().size(), 3u) << outcome.text;
  EXPECT_EQ(scene.run().text, "no plugin pod is older than its node's driver");
}

TEST(Reroller, ANodeThatGoesMeanwhileIsForgotten) {
  RerollScene scene;
  scene.upgrade({"gpu-1", "gpu-2", "gpu-3"});
  scene.never_ready = {"gpu-1"};
  scene.begin();
  ASSERT_TRUE(
      scene.fleet.run_until([&] { return !scene.reroller->restarted().empty(); }, minutes(2)));
  scene.fleet.must(kube::remove(resource::nodes, {"", "gpu-1"}));
  RerollOutcome outcome = scene.finish();
  EXPECT_EQ(outcome.kind, Kind::rerolled) << outcome.text;
  EXPECT_EQ(scene.reroller->restarted().size(), 3u);
}

TEST(Reroller, NoMoreThanTheLimitAreAwayAtATime) {
  RerollScene scene(fleet_of(8));
  scene.upgrade({"gpu-1", "gpu-2", "gpu-3", "gpu-4", "gpu-5", "gpu-6", "gpu-7", "gpu-8"});
  size_t fewest = 8;
  scene.begin();
  while (!scene.reroller->outcome()) {
    scene.fleet.loop.run_for(milliseconds(100));
    size_t there = 0;
    for (const auto& pod : scene.fleet.list(resource::pods, std::string(plugin_ns))) {
      there += find(*pod, "metadata", "deletionTimestamp") == nullptr ? 1 : 0;
    }
    fewest = std::min(fewest, there);
  }
  EXPECT_EQ(scene.reroller->outcome()->kind, Kind::rerolled);
  EXPECT_EQ(scene.reroller->restarted().size(), 8u);
  EXPECT_EQ(fewest, 6u);
}

TEST(Reroller, ADryRunSaysWhatWouldBeRestartedAndDeletesNothing) {
  RerollScene scene;
  scene.upgrade({"gpu-2"});
  auto before = scene.plugins();
  RerollOptions options;
  options.dry_run = true;
  scene.begin(options);
  RerollOutcome outcome = scene.finish(seconds(3));
  EXPECT_EQ(outcome.kind, Kind::dry_run);
  EXPECT_NE(outcome.text.find("gpu-2 (nvidia-dra-driver/" + before["gpu-2"] + ")"),
            std::string::npos)
      << outcome.text;
  EXPECT_TRUE(scene.role.deletions.empty());
}

TEST(Reroller, AClusterWithoutTheOperatorsKindsIsFine) {
  RerollScene scene(fleet_of(2, false));
  scene.upgrade({"gpu-1"});
  RerollOutcome outcome = scene.run();
  EXPECT_EQ(outcome.text, "restarted 1 plugin pod; all are ready");
}

TEST(Reroller, ItAsksForNothingBeyondItsRolesAndDeletesByUidOnly) {
  RerollScene scene;
  scene.upgrade({"gpu-1", "gpu-2"});
  RerollOutcome outcome = scene.run();
  EXPECT_EQ(outcome.kind, Kind::rerolled) << outcome.text;
  EXPECT_EQ(scene.role.refused, std::vector<std::string>{});
  ASSERT_EQ(scene.role.deletions.size(), 2u);
  for (const auto& request : scene.role.deletions) {
    ASSERT_TRUE(request.body);
    EXPECT_NE(text_at(*request.body, "preconditions", "uid"), "");
  }
}

}  // namespace
}  // namespace lockstep::controller::reroller_test
