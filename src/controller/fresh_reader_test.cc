// Steps that cannot be taken back are judged by what the cluster itself says.
#include "controller/fresh_reader.h"

#include <gtest/gtest.h>

#include "controller/fleet_test_util.h"

namespace lockstep::controller::fresh_reader_test {
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

class ReadsAnew : public ::testing::Test {
 protected:
  ReadsAnew() : reader_(scene_.one.api, context_, claims_) {}

  Result<FreshNode> read(const std::string& node) {
    Result<FreshNode> outcome = fail(ErrorKind::internal, "no answer");
    FreshNeeds needs;
    needs.driver_set = ObjectKey{std::string(operator_ns), std::string(driver_set)};
    reader_.read(node, needs, [&](Result<FreshNode> fresh) { outcome = std::move(fresh); });
    scene_.fleet.loop.run_for(minutes(1));
    return outcome;
  }
  static std::string names(const FreshNode& fresh) {
    std::string all;
    for (const auto& pod : fresh.pods) all += pod->meta.name.str() + " ";
    return all;
  }

  UpgradeScene scene_{{1, 2}};
  DecodeContext context_;
  kube::Cache<ResourceClaim> claims_;
  FreshReader reader_;
};

TEST_F(ReadsAnew, TheNodeAndItsPodsAndNobodyElses) {
  scene_.fleet.add_work("work-1", "gpu-1");
  scene_.fleet.add_work("work-2", "gpu-2");
  auto fresh = read("gpu-1");
  ASSERT_TRUE(fresh) << fresh.error().text();
  ASSERT_TRUE(fresh->node);
  EXPECT_EQ(fresh->node->meta.name, "gpu-1");
  EXPECT_EQ(names(*fresh).substr(0, 7), "work-1 ");
  ASSERT_TRUE(fresh->driver_set);
  EXPECT_EQ(fresh->driver_set->meta.name, driver_set);
  EXPECT_EQ(fresh->pods.size(), 3U) << "and its driver and validator: " << names(*fresh);
}

TEST_F(ReadsAnew, ANodeThatIsGone) {
  auto fresh = read("gpu-7");
  ASSERT_TRUE(fresh);
  EXPECT_EQ(fresh->node, nullptr);
  EXPECT_TRUE(fresh->pods.empty());
}

TEST_F(ReadsAnew, NoMoreThanIsNeeded) {
  auto counts = [this] {
    return fmt::format("{} {} {}", scene_.one.api.total("get", "nodes"),
                       scene_.one.api.total("list", "pods"),
                       scene_.one.api.total("get", "daemonsets.apps"));
  };
  // The controller's own first lists.
  scene_.fleet.loop.run_for(minutes(1));
  scene_.one.api.reset();
  FreshNeeds needs;
  needs.node = std::make_shared<const Node>();
  needs.driver = false;
  bool answered = false;
  reader_.read("gpu-1", needs, [&](Result<FreshNode> fresh) {
    answered = true;
    ASSERT_TRUE(fresh) << fresh.error().text();
    EXPECT_EQ(fresh->node, needs.node) << "as it was given";
    EXPECT_FALSE(fresh->has_read_node);
    EXPECT_FALSE(fresh->has_read_driver);
    EXPECT_FALSE(fresh->pods.empty());
  });
  scene_.fleet.loop.run_for(minutes(1));
  EXPECT_TRUE(answered);
  EXPECT_EQ(counts(), "0 1 0");
}

TEST_F(ReadsAnew, TheRevisionsOfTheDriverWhereTheyAreAskedFor) {
  FreshNeeds needs;
  needs.driver_set = ObjectKey{std::string(operator_ns), std::string(driver_set)};
  needs.revisions = true;
  Result<FreshNode> outcome = fail(ErrorKind::internal, "no answer");
  auto read_now = [&] {
    reader_.read("gpu-1", needs, [&](Result<FreshNode> fresh) { outcome = std::move(fresh); });
    scene_.fleet.loop.run_for(minutes(1));
  };
  read_now();
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_TRUE(outcome->has_read_revisions);
  ASSERT_EQ(outcome->revisions.size(), 1U);
  EXPECT_EQ(outcome->revisions[0]->meta.controller()->name, driver_set);
  scene_.one.faults.on_call(
      kube::ScriptedFaults::calls(kube::Verb::list, resource::controller_revisions),
      failing(kube::Fault::server_error));
  read_now();
  EXPECT_FALSE(outcome);
}

TEST_F(ReadsAnew, NothingIsConcludedFromHalfAnAnswer) {
  scene_.one.faults.on_call(reads_of_pods(), failing(kube::Fault::server_error));
  EXPECT_FALSE(read("gpu-1"));
  scene_.one.faults.on_call(kube::ScriptedFaults::calls(kube::Verb::get, resource::nodes),
                            failing(kube::Fault::throttled));
  EXPECT_FALSE(read("gpu-1"));
  scene_.one.faults.on_call(reads_of_pods(), failing(kube::Fault::reply_lost));
  EXPECT_FALSE(read("gpu-1"));
  EXPECT_TRUE(read("gpu-1"));
}

TEST_F(ReadsAnew, ClaimsOfWhichNobodyKnowsWhatTheyAre) {
  auto& fleet = scene_.fleet;
  Json claim = json_of(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",
      "metadata":{"name":"c","namespace":"default"},
      "spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}}]}}})");
  Json known = claim;
  known.as_object()["metadata"].as_object()["name"] = "known";
  fleet.must(kube::create(resource::resource_claims, "default", claim));
  fleet.must(kube::create(resource::resource_claims, "default", known));
  Json pod = gpu_pod_json("claims", "gpu-1");
  Json& spec = pod.as_object()["spec"];
  spec.as_object()["resourceClaims"] =
      json_of(R"([{"name":"a","resourceClaimName":"c"},{"name":"b","resourceClaimName":"known"},
                  {"name":"d","resourceClaimName":"gone"}])");
  fleet.must(kube::create(resource::pods, "default", pod));
  ResourceClaim held;
  held.meta.ns = "default";
  held.meta.name = "known";
  held.meta.resource_version = "1";
  held.allocated = true;
  claims_.apply(kube::WatchEventType::added, std::make_shared<const ResourceClaim>(held));
  auto fresh = read("gpu-1");
  ASSERT_TRUE(fresh) << fresh.error().text();
  ASSERT_EQ(fresh->claims.size(), 2U);
  EXPECT_NE(fresh->claims.at({"default", "c"}), nullptr);
  EXPECT_EQ(fresh->claims.at({"default", "gone"}), nullptr);
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

// Changed and changed back, and one of us has not seen the last: what it would restart is right.
TEST(FreshView, ADaemonSetThatTheWatchHasNotShownKeepsTheDriver) {
  fleet::NodeView view;
  FreshNode fresh;
  EXPECT_FALSE(FleetWatch::is_behind_on_driver(fresh, view))
      << "no driver, nothing to be behind on";
  DaemonSet seen;
  seen.meta.uid = "a";
  seen.meta.generation = 2;
  view.driver.set = std::make_shared<const DaemonSet>(seen);
  EXPECT_FALSE(FleetWatch::is_behind_on_driver(fresh, view)) << "nobody asked";
  fresh.has_read_driver = true;
  fresh.asked_driver_set = view.driver.set_to_ask();
  EXPECT_TRUE(FleetWatch::is_behind_on_driver(fresh, view)) << "it is gone";
  fresh.driver_set = std::make_shared<const DaemonSet>(seen);
  EXPECT_FALSE(FleetWatch::is_behind_on_driver(fresh, view));
  seen.meta.generation = 3;
  fresh.driver_set = std::make_shared<const DaemonSet>(seen);
  EXPECT_TRUE(FleetWatch::is_behind_on_driver(fresh, view)) << "its template is another";
  seen.meta.generation = 2;
  seen.meta.uid = "b";
  fresh.driver_set = std::make_shared<const DaemonSet>(seen);
  EXPECT_TRUE(FleetWatch::is_behind_on_driver(fresh, view)) << "it was created anew";
}

// A change that does not touch the driver: by the DaemonSet alone nobody can tell that there is a
// newer revision than the one that was seen.
TEST(FreshView, ARevisionThatTheWatchHasNotShownKeepsTheNode) {
  DaemonSet set;
  set.meta.uid = "a";
  fleet::NodeView view;
  view.driver.set = std::make_shared<const DaemonSet>(set);
  view.driver.newest_revision = "first";
  FreshNode fresh;
  fresh.has_read_driver = true;
  fresh.asked_driver_set = view.driver.set_to_ask();
  fresh.driver_set = view.driver.set;
  auto add = [&](const char* owner, const char* hash, int64_t number) {
    ControllerRevision revision;
    revision.meta.name = hash;
    revision.meta.owners.push_back({"apps/v1", "DaemonSet", "driver", Text(owner), true});
    revision.meta.labels.set(Text(fleet::revision_label), Text(hash));
    revision.revision = number;
    fresh.revisions.push_back(std::make_shared<const ControllerRevision>(revision));
  };
  add("a", "first", 1);
  add("b", "another's", 7);
  fresh.has_read_revisions = true;
  EXPECT_FALSE(FleetWatch::is_behind_on_driver(fresh, view));
  add("a", "second", 2);
  EXPECT_TRUE(FleetWatch::is_behind_on_driver(fresh, view));
  view.driver.newest_revision = "";
  EXPECT_FALSE(FleetWatch::is_behind_on_driver(fresh, view)) << "not known, and so not wrong";
  view.driver.newest_revision = "first";
  fresh.has_read_revisions = false;
  EXPECT_FALSE(FleetWatch::is_behind_on_driver(fresh, view)) << "nobody asked";
}

// Its DaemonSet was created anew, and only its pods have been seen so far: each of them would be
// taken for an orphan and deleted, and the next made, until the watch shows the DaemonSet.
TEST(FreshView, ThePodOfADaemonSetThatTheWatchHasNotShownIsNoOrphan) {
  Pod pod;
  pod.meta.ns = operator_ns;
  pod.meta.owners.push_back({"apps/v1", "DaemonSet", "driver", "new", true});
  fleet::NodeView view;
  view.driver.pod = std::make_shared<const Pod>(pod);
  ASSERT_TRUE(view.driver.is_orphan()) << "by what the watches show";
  FreshNode fresh;
  fresh.has_read_driver = true;
  fresh.asked_driver_set = view.driver.set_to_ask();
  ASSERT_EQ(fresh.asked_driver_set, (ObjectKey{std::string(operator_ns), "driver"}));
  EXPECT_FALSE(FleetWatch::is_behind_on_driver(fresh, view)) << "its DaemonSet is gone indeed";
  DaemonSet set;
  set.meta.ns = operator_ns;
  set.meta.name = "driver";
  set.meta.uid = "newer";
  fresh.driver_set = std::make_shared<const DaemonSet>(set);
  EXPECT_FALSE(FleetWatch::is_behind_on_driver(fresh, view)) << "another of the same name";
  set.meta.uid = "new";
  fresh.driver_set = std::make_shared<const DaemonSet>(set);
  EXPECT_TRUE(FleetWatch::is_behind_on_driver(fresh, view));
  fresh.asked_driver_set = ObjectKey{std::string(operator_ns), "another"};
  fresh.driver_set = nullptr;
  EXPECT_TRUE(FleetWatch::is_behind_on_driver(fresh, view)) << "somebody else was asked";
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

// A change of mind within minutes may be that of one who has not seen the newest revision.
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

TEST(FreshView, WhoWasCutOffLooksForAsLongAsTheDeadlineBeforeItGivesUp) {
  UpgradeScene scene({1, 1});
  scene.start();
  scene.upgrade();
  ASSERT_TRUE(scene.fleet.run_until(
      [&] { return scene.fleet.state("gpu-1") == "validation-required"; }, minutes(2)));
  // The validator from before the restart is still there: nobody was there to restart it.
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
}  // namespace lockstep::controller::fresh_reader_test
