#include "sim/actors/daemon_set_controller.h"

#include <gtest/gtest.h>

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::daemon_set_controller_test {
namespace {

struct Revision {
  std::string name;
  std::string hash;
  int64_t revision = 0;
};

std::vector<Revision> revisions_of(Cluster& cluster, std::string_view daemon_set) {
  std::vector<Revision> revisions;
  for (const Document& document : cluster.list(resource::controller_revisions)) {
    const Json& owner = document->at("metadata").at("ownerReferences").as_array().front();
    if (text_at(owner, "name") != daemon_set) continue;
    revisions.push_back(
        {key_of(*document).name,
         std::string(text_at(*document, "metadata", "labels", "controller-revision-hash")),
         as_integer(find(*document, "revision"))});
  }
  std::sort(revisions.begin(), revisions.end(),
            [](const Revision& a, const Revision& b) { return a.revision < b.revision; });
  return revisions;
}

Json status_of_set(Cluster& cluster, std::string_view ns, std::string_view name) {
  return cluster.get(resource::daemon_sets, {std::string(ns), std::string(name)})->at("status");
}

TEST(DaemonSetControllerTest, APodPerMatchingNodeCordonedOrNot) {
  ClusterOptions options = fleet_of(4);
  options.simulated.fleet.node_labels["gpu-3"] = {{"nvidia.com/gpu.deploy.driver", "false"}};
  Cluster cluster(options);
  cluster.fleet.start();
  cluster.loop.run_for(milliseconds(100));
  cordon(cluster, "gpu-2");
  cluster.loop.run_for(minutes(5));
  EXPECT_TRUE(has_driver(cluster, "gpu-2", old_version));
  EXPECT_TRUE(cluster.pods_of(driver_daemon_set_name, "gpu-3").empty());
  Pod pod = pod_of(cluster, driver_daemon_set_name, "gpu-1");
  auto revisions = revisions_of(cluster, driver_daemon_set_name);
  ASSERT_EQ(revisions.size(), 1u);
  EXPECT_EQ(pod.meta.labels.get("controller-revision-hash"), revisions[0].hash);
  EXPECT_EQ(revisions[0].name, std::string(driver_daemon_set_name) + "-" + revisions[0].hash);
  EXPECT_TRUE(pod.is_owned_by_daemon_set());
  Json status = status_of_set(cluster, operator_namespace, driver_daemon_set_name);
  for (auto field : {"desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled",
                     "numberReady", "numberAvailable"}) {
    EXPECT_EQ(as_integer(find(status, field)), 3) << field;
  }
  EXPECT_EQ(as_integer(find(status, "observedGeneration")), 1);
}

TEST(DaemonSetControllerTest, FollowsTheLabelsOfNodes) {
  Cluster cluster(fleet_of(2));
  ASSERT_TRUE(cluster.start());
  auto label = [&](const char* value) {
    ASSERT_TRUE(cluster.call(merge_patch(
        resource::nodes, {"", "gpu-1"},
        JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{"nvidia.com/gpu.deploy.driver",
                                                                  value}}}}}})));
  };
  label("false");
  cluster.loop.run_for(minutes(1));
  EXPECT_TRUE(cluster.pods_of(driver_daemon_set_name, "gpu-1").empty());
  label("true");
  cluster.loop.run_for(minutes(5));
  EXPECT_TRUE(has_driver(cluster, "gpu-1", old_version));
}

TEST(DaemonSetControllerTest, ANewPodComesOnlyWhenTheOldOneIsGone) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  Pod before = pod_of(cluster, driver_daemon_set_name, "gpu-1");
  NodeBehaviour hung;
  hung.hangs = true;
  cluster.kubelets().set_behaviour("gpu-1", hung);
  ASSERT_TRUE(delete_pod_of(cluster, driver_daemon_set_name, "gpu-1"));
  cluster.loop.run_for(minutes(10));
  Pod still = pod_of(cluster, driver_daemon_set_name, "gpu-1");
  EXPECT_EQ(still.meta.uid, before.meta.uid);
  EXPECT_TRUE(still.meta.is_deleting());
  cluster.kubelets().set_behaviour("gpu-1", {});
  cluster.loop.run_for(minutes(5));
  EXPECT_NE(pod_of(cluster, driver_daemon_set_name, "gpu-1").meta.uid, before.meta.uid);
}

TEST(DaemonSetControllerTest, OnDeleteWaitsAndAnOldTemplateGetsItsOldRevisionBack) {
  Cluster cluster(fleet_of(2));
  ASSERT_TRUE(cluster.start());
  auto first = revisions_of(cluster, driver_daemon_set_name);
  ASSERT_TRUE(cluster.set_driver_version(new_version));
  cluster.loop.run_for(minutes(5));
  auto second = revisions_of(cluster, driver_daemon_set_name);
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second[1].revision, 2);
  EXPECT_EQ(
      pod_of(cluster, driver_daemon_set_name, "gpu-1").meta.labels.get("controller-revision-hash"),
      first[0].hash);
  Json status = status_of_set(cluster, operator_namespace, driver_daemon_set_name);
  EXPECT_EQ(as_integer(find(status, "updatedNumberScheduled")), 0);
  EXPECT_EQ(as_integer(find(status, "numberReady")), 2);
  EXPECT_EQ(as_integer(find(status, "observedGeneration")), 2);

  ASSERT_TRUE(cluster.set_driver_version(old_version));
  cluster.loop.run_for(minutes(1));
  auto third = revisions_of(cluster, driver_daemon_set_name);
  ASSERT_EQ(third.size(), 2u);
  EXPECT_EQ(third[1].hash, first[0].hash);
  EXPECT_EQ(third[1].revision, 3);
  status = status_of_set(cluster, operator_namespace, driver_daemon_set_name);
  EXPECT_EQ(as_integer(find(status, "updatedNumberScheduled")), 2);
}

// A stale view produced one of them.
TEST(DaemonSetControllerTest, OfTwoRevisionsWithOneNumberTheWantedBecomesTheNewest) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  auto first = revisions_of(cluster, driver_daemon_set_name);
  ASSERT_TRUE(cluster.set_driver_version(new_version));
  cluster.loop.run_for(minutes(1));
  ObjectKey key{std::string(operator_namespace),
                fmt::format("{}-{}", driver_daemon_set_name, first[0].hash)};
  ASSERT_TRUE(
      cluster.call(merge_patch(resource::controller_revisions, key, JsonObject{{"revision", 2}})));
  cluster.loop.run_for(minutes(1));
  auto both = revisions_of(cluster, driver_daemon_set_name);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].hash, first[0].hash);
  EXPECT_EQ(both[0].revision, 2);
  EXPECT_EQ(both[1].revision, 3);
}

TEST(DaemonSetControllerTest, ARollingUpdateNeverHasMoreThanItsLimitOut) {
  Cluster cluster(fleet_of(6));
  ASSERT_TRUE(cluster.start());
  ObjectKey key{std::string(dra_namespace), std::string(dra_daemon_set_name)};
  JsonObject metadata{
      {"annotations", JsonObject{{"kubectl.kubernetes.io/restartedAt", "2026-01-01T00:00:00Z"}}}};
  ASSERT_TRUE(cluster.call(merge_patch(
      resource::daemon_sets, key,
      JsonObject{{"spec", JsonObject{{"template", JsonObject{{"metadata", metadata}}}}}})));
  size_t most_out = 0;
  auto done = [&] {
    size_t ready = 0;
    size_t updated = 0;
    for (const Pod& pod : pods_in(cluster, key.ns)) {
      bool up = pod.ready && !pod.meta.is_deleting();
      ready += up ? 1 : 0;
      updated += up && pod.meta.annotations.contains("kubectl.kubernetes.io/restartedAt") ? 1 : 0;
    }
    most_out = std::max(most_out, 6 - ready);
    return updated == 6;
  };
  EXPECT_TRUE(run_until(cluster, done, minutes(10)));
  EXPECT_EQ(most_out, 1u);
}

TEST(DaemonSetControllerTest, PodsOfANodeThatIsGoneGoToo) {
  Cluster cluster(fleet_of(2));
  ASSERT_TRUE(cluster.start());
  ASSERT_TRUE(cluster.call(kube::remove(resource::nodes, {"", "gpu-2"})));
  cluster.loop.run_for(minutes(1));
  EXPECT_TRUE(cluster.pods_of(driver_daemon_set_name, "gpu-2").empty());
  EXPECT_TRUE(cluster.pods_of(dra_daemon_set_name, "gpu-2").empty());
}

}  // namespace
}  // namespace lockstep::sim::daemon_set_controller_test
