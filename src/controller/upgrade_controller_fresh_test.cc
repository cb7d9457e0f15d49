// Irreversible steps are decided by a fresh read from the API server.
#include <gtest/gtest.h>

#include "controller/controller_test_util.h"

namespace lockstep::controller::upgrade_controller_fresh_test {
namespace {

kube::ScriptedFaults::CallMatch reads_of_pods() {
  return [](const kube::Request& request) {
    return request.verb == kube::Verb::list && request.type == resource::pods &&
           request.find_query("fieldSelector") != nullptr;
  };
}

kube::CallPlan failing(kube::Fault fault) {
  kube::CallPlan plan;
  plan.fault = fault;
  return plan;
}

// From now on one kind of object is seen late, whole lists apart.
void see_late(TestController& controller, const ResourceType& type, Duration lag) {
  kube::WatchPlan plan;
  plan.lag = lag;
  controller.faults.on_watch(
      [type](const kube::WatchRequest& request) { return request.type == type; }, plan, 1000);
}

TEST(FreshView, APodThatTheWatchHasNotShownKeepsTheDriver) {
  UpgradeScene scene({1, 1, R"({"maxUnavailable":"100%","podDeletion":{"timeoutSeconds":0}})"});
  see_late(scene.one, resource::pods, minutes(1));
  scene.start();
  scene.fleet.loop.run_for(minutes(12));
  scene.fleet.add_work("late", "gpu-1");
  scene.upgrade();
  ASSERT_TRUE(scene.fleet.run_until(
      [&] { return scene.fleet.state("gpu-1") == "pod-restart-required"; }, minutes(2)));
  scene.fleet.loop.run_for(seconds(5));
  EXPECT_EQ(scene.one.controller->reasons().at("gpu-1").name, "WatchesBehind");
  EXPECT_EQ(scene.one.controller->counts().fresh_views.at("overturned"), 1U);
  uint64_t reads = scene.one.api.total("list", "pods");
  scene.fleet.loop.run_for(seconds(30));
  EXPECT_EQ(scene.one.api.total("list", "pods"), reads)
      << "as long as the watch has not shown it, asking again tells nothing new";
  ASSERT_TRUE(scene.finish());
  EXPECT_FALSE(scene.fleet.exists(resource::pods, {"default", "late"})) << "it was evicted";
  EXPECT_EQ(scene.one.controller->counts().fresh_views.at("confirmed"), 5U)
      << "before it was sent back, twice on the way forward again, before the driver went, and "
         "before the node returned";
}

TEST(FreshView, ANodeIsReadBeforeItsDriverGoesAndBeforeItReturnsToService) {
  UpgradeScene scene;
  scene.start();
  // Not only just done.
  scene.fleet.loop.run_for(minutes(12));
  uint64_t lists = scene.one.api.total("list", "pods");
  uint64_t gets = scene.one.api.total("get", "nodes");
  scene.upgrade();
  ASSERT_TRUE(scene.finish());
  EXPECT_EQ(scene.one.api.total("list", "pods") - lists, 6U) << "two for each node";
  EXPECT_EQ(scene.one.api.total("get", "nodes") - gets, 3U)
      << "before the driver goes; the patch that returns a node names its version";
  EXPECT_EQ(scene.one.controller->counts().fresh_views.at("confirmed"), 6U);
}

// The patch that returns it names the version that was last seen: it is refused, and not tried
// again and again.
TEST(FreshView, ANodeWhosePatchWasRefusedIsReadBeforeTheNext) {
  UpgradeScene scene({1, 1});
  scene.start();
  scene.fleet.loop.run_for(minutes(12));
  scene.upgrade();
  ASSERT_TRUE(scene.fleet.run_until(
      [&] { return scene.fleet.state("gpu-1") == "validation-required"; }, minutes(2)));
  see_late(scene.one, resource::nodes, minutes(1));
  scene.one.drop_watches();
  scene.fleet.loop.run_for(seconds(1));
  ASSERT_EQ(scene.fleet.state("gpu-1"), "validation-required") << "it would show nothing";
  scene.fleet.patch_node("gpu-1", R"({"metadata":{"labels":{"somebody":"was-here"}}})");
  const uint64_t gets = scene.one.api.total("get", "nodes");
  const uint64_t patches = scene.one.api.total("patch", "nodes");
  ASSERT_TRUE(scene.fleet.run_until(
      [&] { return scene.fleet.state("gpu-1") == "uncordon-required"; }, seconds(50)));
  EXPECT_EQ(scene.one.controller->counts().conflicts, 1U);
  EXPECT_EQ(scene.one.api.total("get", "nodes") - gets, 1U);
  EXPECT_EQ(scene.one.api.total("patch", "nodes") - patches, 2U);
}

// A change of mind within minutes may come from a replica that has not seen the newest revision.
TEST(FreshView, ANodeThatIsOnlyJustDoneIsReadBeforeItIsBegunAgain) {
  UpgradeScene scene({1, 1});
  scene.start();
  scene.upgrade();
  ASSERT_TRUE(scene.finish());
  EXPECT_EQ(scene.one.controller->counts().fresh_views.at("confirmed"), 3U);
}

TEST(FreshView, ReadsThatFailAreTriedAgainAndTheNodeSaysSo) {
  UpgradeScene scene({1, 1});
  scene.start();
  scene.fleet.loop.run_for(minutes(12));
  scene.one.faults.on_call(reads_of_pods(), failing(kube::Fault::server_error), 6);
  scene.upgrade();
  ASSERT_TRUE(scene.fleet.run_until(
      [&] { return scene.one.controller->reasons().at("gpu-1").name == "NotVerified"; },
      minutes(2)));
  EXPECT_EQ(scene.fleet.state("gpu-1"), "pod-restart-required");
  ASSERT_TRUE(scene.finish());
  EXPECT_EQ(scene.one.controller->counts().fresh_views.at("error"), 6U);
}

TEST(FreshView, AFailureIsNotBelievedOfAWatchThatIsBehind) {
  UpgradeScene scene({1, 1, R"({"maxUnavailable":"100%","deadlines":{"validationSeconds":60}})"});
  scene.start();
  scene.upgrade();
  ASSERT_TRUE(scene.fleet.run_until(
      [&] { return scene.fleet.state("gpu-1") == "validation-required"; }, minutes(2)));
  // The validator that will soon be ready is seen when its time is over.
  see_late(scene.one, resource::pods, minutes(2));
  scene.one.drop_watches();
  ASSERT_TRUE(scene.finish());
  EXPECT_EQ(scene.one.controller->counts().failures, 0U);
  EXPECT_FALSE(scene.one.controller->counts().fresh_views.contains("overturned"))
      << "what was read lets it go on at once";
}

TEST(FreshView, AFailureIsNotBelievedOfSlicesThatTheWatchHasNotShown) {
  UpgradeScene scene({1, 1, R"({"maxUnavailable":"100%","deadlines":{"validationSeconds":60}})"});
  TestFleet& fleet = scene.fleet;
  const std::string ns(plugin_ns);
  auto slice = [](std::string_view version) {
    return json_of(fmt::format(
        R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{{"name":"slice"}},
             "spec":{{"driver":"gpu.nvidia.com","nodeName":"gpu-1",
               "pool":{{"name":"p","generation":1,"resourceSliceCount":1}},
               "devices":[{{"name":"gpu-0",
                 "attributes":{{"driverVersion":{{"version":"{}"}}}}}}]}}}})",
        version));
  };
  Json set =
      fleet.must(kube::create(resource::daemon_sets, ns, daemon_set_json(plugin_ns, plugin_set)));
  fleet.must(kube::create(resource::resource_slices, "", slice("570.1.2")));
  scene.start();
  scene.upgrade();
  ASSERT_TRUE(
      fleet.run_until([&] { return fleet.state("gpu-1") == "validation-required"; }, minutes(2)));
  see_late(scene.one, resource::resource_slices, minutes(10));
  scene.one.drop_watches();
  // As the operator does with every load of the driver.
  for (const auto& pod : fleet.list(resource::pods, std::string(operator_ns))) {
    if (text_at(*pod, "metadata", "labels", "app") != validator_set) continue;
    fleet.must(kube::remove(resource::pods, {std::string(operator_ns),
                                             std::string(text_at(*pod, "metadata", "name"))}));
  }
  fleet.loop.run_for(seconds(20));
  fleet.must(kube::create(
      resource::pods, ns,
      daemon_pod_json(plugin_ns, plugin_set, text_at(set, "metadata", "uid"), "plugin", "gpu-1")));
  kube::Request status = kube::patch(resource::pods, {ns, "plugin"}, kube::PatchType::merge,
                                     ready_status(fleet.loop.now()));
  status.subresource = "status";
  fleet.must(status);
  fleet.must(kube::patch(resource::resource_slices, {"", "slice"}, kube::PatchType::merge,
                         slice("580.126.20")));
  fleet.loop.run_for(seconds(20));
  EXPECT_EQ(scene.one.controller->reasons().at("gpu-1").name, "StaleResourceSlice");
  ASSERT_TRUE(scene.finish(minutes(3)));
  EXPECT_EQ(scene.one.controller->counts().failures, 0U);
}

TEST(FreshView, WhoWasCutOffLooksForAsLongAsTheDeadlineBeforeItGivesUp) {
  UpgradeScene scene({1, 1});
  scene.start();
  scene.upgrade();
  ASSERT_TRUE(scene.fleet.run_until(
      [&] { return scene.fleet.state("gpu-1") == "validation-required"; }, minutes(2)));
  // The validator from before the restart is still there: no controller was there to restart it.
  scene.one.begin_outage();
  scene.fleet.loop.run_for(minutes(20));
  scene.one.end_outage();
  ASSERT_TRUE(scene.finish());
  EXPECT_EQ(scene.one.controller->counts().failures, 0U);
}

// Also one that may not act: what it was to wait for may have changed meanwhile.
TEST(FreshView, TimeInWhichUpgradesAreSwitchedOffIsNoTimeOfADeadline) {
  UpgradeScene scene({1, 1});
  scene.start();
  scene.upgrade();
  ASSERT_TRUE(scene.fleet.run_until(
      [&] { return scene.fleet.state("gpu-1") == "validation-required"; }, minutes(2)));
  scene.fleet.set_policy(R"({"autoUpgrade":false,"maxUnavailable":"100%"})");
  scene.fleet.loop.run_for(hours(2));
  ASSERT_EQ(scene.fleet.state("gpu-1"), "validation-required");
  scene.fleet.set_policy(R"({"autoUpgrade":true,"maxUnavailable":"100%"})");
  ASSERT_TRUE(scene.finish());
  EXPECT_EQ(scene.one.controller->counts().failures, 0U);
}

}  // namespace
}  // namespace lockstep::controller::upgrade_controller_fresh_test
