// Irreversible steps are decided by a fresh read from the API server.
#include "view/fresh_reader.h"

#include <gtest/gtest.h>

#include "view/fleet_test_util.h"

namespace lockstep::view::fresh_reader_test {
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

class ReadsAnew : public ::testing::Test {
 protected:
  ReadsAnew() : fleet_({1, 2}), one_(fleet_, "one"), reader_(one_.api, context_, claims_) {}

  Result<FreshNode> read(const std::string& node) {
    Result<FreshNode> outcome = fail(ErrorKind::internal, "no answer");
    FreshNeeds needs;
    needs.driver_set = ObjectKey{std::string(operator_ns), std::string(driver_set)};
    reader_.read(node, needs, [&](Result<FreshNode> fresh) { outcome = std::move(fresh); });
    fleet_.loop.run_for(minutes(1));
    return outcome;
  }
  static std::string names(const FreshNode& fresh) {
    std::string all;
    for (const auto& pod : fresh.pods) all += pod->meta.name.str() + " ";
    return all;
  }

  TestFleet fleet_;
  TestApi one_;
  DecodeContext context_;
  kube::Cache<ResourceClaim> claims_;
  FreshReader reader_;
};

TEST_F(ReadsAnew, TheNodeAndItsPodsAndNobodyElses) {
  fleet_.add_work("work-1", "gpu-1");
  fleet_.add_work("work-2", "gpu-2");
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
    return fmt::format("{} {} {}", one_.api.total("get", "nodes"), one_.api.total("list", "pods"),
                       one_.api.total("get", "daemonsets.apps"));
  };
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
  fleet_.loop.run_for(minutes(1));
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
    fleet_.loop.run_for(minutes(1));
  };
  read_now();
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_TRUE(outcome->has_read_revisions);
  ASSERT_EQ(outcome->revisions.size(), 1U);
  EXPECT_EQ(outcome->revisions[0]->meta.controller()->name, driver_set);
  one_.faults.on_call(kube::ScriptedFaults::calls(kube::Verb::list, resource::controller_revisions),
                      failing(kube::Fault::server_error));
  read_now();
  EXPECT_FALSE(outcome);
}

TEST_F(ReadsAnew, TheSlicesOfTheNodeWhereTheyAreAskedFor) {
  for (const char* node : {"gpu-1", "gpu-2"}) {
    fleet_.must(kube::create(
        resource::resource_slices, "",
        json_of(fmt::format(R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice",
                               "metadata":{{"name":"of-{0}"}},
                               "spec":{{"driver":"gpu.nvidia.com","nodeName":"{0}",
                                 "pool":{{"name":"p","generation":1,"resourceSliceCount":1}},
                                 "devices":[]}}}})",
                            node))));
  }
  auto plain = read("gpu-1");
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->slices) << "they were not asked for";
  EXPECT_EQ(one_.api.total("list", "resourceslices.resource.k8s.io"), 0U);
  FreshNeeds needs;
  needs.slices = true;
  Result<FreshNode> outcome = fail(ErrorKind::internal, "no answer");
  auto read_now = [&] {
    reader_.read("gpu-1", needs, [&](Result<FreshNode> fresh) { outcome = std::move(fresh); });
    fleet_.loop.run_for(minutes(1));
  };
  read_now();
  ASSERT_TRUE(outcome) << outcome.error().text();
  ASSERT_TRUE(outcome->slices);
  ASSERT_EQ(outcome->slices->size(), 1U);
  EXPECT_EQ(outcome->slices->front()->meta.name, "of-gpu-1");
  one_.faults.on_call(kube::ScriptedFaults::calls(kube::Verb::list, resource::resource_slices),
                      failing(kube::Fault::server_error));
  read_now();
  EXPECT_FALSE(outcome);
}

TEST_F(ReadsAnew, NothingIsConcludedFromHalfAnAnswer) {
  one_.faults.on_call(reads_of_pods(), failing(kube::Fault::server_error));
  EXPECT_FALSE(read("gpu-1"));
  one_.faults.on_call(kube::ScriptedFaults::calls(kube::Verb::get, resource::nodes),
                      failing(kube::Fault::throttled));
  EXPECT_FALSE(read("gpu-1"));
  one_.faults.on_call(reads_of_pods(), failing(kube::Fault::reply_lost));
  EXPECT_FALSE(read("gpu-1"));
  EXPECT_TRUE(read("gpu-1"));
}

TEST_F(ReadsAnew, ClaimsOfWhichNobodyKnowsWhatTheyAre) {
  Json claim = json_of(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",
      "metadata":{"name":"c","namespace":"default"},
      "spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}}]}}})");
  Json known = claim;
  known.as_object()["metadata"].as_object()["name"] = "known";
  fleet_.must(kube::create(resource::resource_claims, "default", claim));
  fleet_.must(kube::create(resource::resource_claims, "default", known));
  Json pod = gpu_pod_json("claims", "gpu-1");
  Json& spec = pod.as_object()["spec"];
  spec.as_object()["resourceClaims"] =
      json_of(R"([{"name":"a","resourceClaimName":"c"},{"name":"b","resourceClaimName":"known"},
                  {"name":"d","resourceClaimName":"gone"}])");
  fleet_.must(kube::create(resource::pods, "default", pod));
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

// Changed and changed back, and this replica has not seen the last: what it would restart is right.
TEST(FreshView, ADaemonSetThatTheWatchHasNotShownKeepsTheDriver) {
  fleet::NodeView view;
  FreshNode fresh;
  EXPECT_FALSE(is_behind_on_driver(fresh, view)) << "no driver, nothing to be behind on";
  DaemonSet seen;
  seen.meta.uid = "a";
  seen.meta.generation = 2;
  view.driver.set = std::make_shared<const DaemonSet>(seen);
  EXPECT_FALSE(is_behind_on_driver(fresh, view)) << "nobody asked";
  fresh.has_read_driver = true;
  fresh.asked_driver_set = view.driver.set_to_ask();
  EXPECT_TRUE(is_behind_on_driver(fresh, view)) << "it is gone";
  fresh.driver_set = std::make_shared<const DaemonSet>(seen);
  EXPECT_FALSE(is_behind_on_driver(fresh, view));
  seen.meta.generation = 3;
  fresh.driver_set = std::make_shared<const DaemonSet>(seen);
  EXPECT_TRUE(is_behind_on_driver(fresh, view)) << "its template is another";
  seen.meta.generation = 2;
  seen.meta.uid = "b";
  fresh.driver_set = std::make_shared<const DaemonSet>(seen);
  EXPECT_TRUE(is_behind_on_driver(fresh, view)) << "it was created anew";
}

// A change that does not affect the driver: the DaemonSet alone does not show that there is a newer
// revision than the one that was seen.
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
  EXPECT_FALSE(is_behind_on_driver(fresh, view));
  add("a", "second", 2);
  EXPECT_TRUE(is_behind_on_driver(fresh, view));
  view.driver.newest_revision = "";
  EXPECT_TRUE(is_behind_on_driver(fresh, view)) << "the watches do not tell, and the cluster does";
  fresh.revisions.clear();
  add("b", "another's", 7);
  EXPECT_FALSE(is_behind_on_driver(fresh, view)) << "nobody can tell";
  add("a", "first", 1);
  set.pod_template.spec.containers.emplace_back();
  set.pod_template.spec.containers[0].environment = {{"DRIVER_CONFIG_DIGEST", "newer"}};
  view.driver.set = fresh.driver_set = std::make_shared<const DaemonSet>(set);
  EXPECT_FALSE(is_behind_on_driver(fresh, view)) << "a change without its revision so far";
  view.driver.newest_revision = "first";
  fresh.has_read_revisions = false;
  EXPECT_FALSE(is_behind_on_driver(fresh, view)) << "nobody asked";
}

// Its DaemonSet was deleted and created again, and only its pods have been seen so far. Each would
// pass for an orphan, be deleted and made again, until the watch shows the DaemonSet.
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
  EXPECT_FALSE(is_behind_on_driver(fresh, view)) << "its DaemonSet is gone indeed";
  DaemonSet set;
  set.meta.ns = operator_ns;
  set.meta.name = "driver";
  set.meta.uid = "newer";
  fresh.driver_set = std::make_shared<const DaemonSet>(set);
  EXPECT_FALSE(is_behind_on_driver(fresh, view)) << "another of the same name";
  set.meta.uid = "new";
  fresh.driver_set = std::make_shared<const DaemonSet>(set);
  EXPECT_TRUE(is_behind_on_driver(fresh, view));
  fresh.asked_driver_set = ObjectKey{std::string(operator_ns), "another"};
  fresh.driver_set = nullptr;
  EXPECT_TRUE(is_behind_on_driver(fresh, view)) << "somebody else was asked";
}

}  // namespace
}  // namespace lockstep::view::fresh_reader_test
