#include "sim/actors/pod_maker.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::pod_maker_test {
namespace {

struct PodMakerTest : ::testing::Test {
  PodMakerTest() {
    view.of(resource::replica_sets);
    EXPECT_TRUE(cluster.start());
    view.start();
    JsonObject labels{{"app", "web"}};
    auto created = cluster.call(kube::create(
        resource::replica_sets, "ml-training",
        JsonObject{
            {"apiVersion", "apps/v1"},
            {"kind", "ReplicaSet"},
            {"metadata", JsonObject{{"name", "web"}}},
            {"spec",
             JsonObject{{"replicas", 0},
                        {"selector", JsonObject{{"matchLabels", labels}}},
                        {"template", JsonObject{{"metadata", JsonObject{{"labels", labels}}},
                                                {"spec", JsonObject{{"containers",
                                                                     JsonArray{JsonObject{
                                                                         {"name", "c"},
                                                                         {"image", "i"}}}}}}}}}}}));
    EXPECT_TRUE(created) << (created ? "" : created.error().text());
    cluster.loop.run_for(seconds(1));
    owner = view.of(resource::replica_sets).find({"ml-training", "web"});
  }
  void make() {
    maker.create(resource::replica_sets, *owner, owner->document->at("spec").at("template"),
                 {{"extra", "1"}}, "Always");
  }

  Cluster cluster{fleet_of(1)};
  SeededRandom random{4};
  SilentLog log;
  Parts parts{cluster.api("maker"), cluster.loop, random, log};
  View view{parts};
  size_t changes = 0;
  PodMaker maker{parts, view, [this](const std::string&) { ++changes; }};
  Object owner;
};

TEST_F(PodMakerTest, WhatIsMadeCountsBeforeItIsSeen) {
  ASSERT_TRUE(owner);
  std::string uid = owner->meta.uid.str();
  make();
  EXPECT_EQ(maker.count(uid).unseen, 1);
  EXPECT_EQ(maker.count(uid).live, 0);
  // Before the owner's pods are counted.
  while (maker.count(uid).live == 0 && cluster.loop.step()) {
  }
  EXPECT_EQ(maker.count(uid).unseen, 0);
  std::vector<Object> pods = maker.live_pods(uid);
  ASSERT_EQ(pods.size(), 1u);
  EXPECT_EQ(pods[0]->meta.labels.get("extra"), "1");
  EXPECT_EQ(pods[0]->meta.controller()->uid, uid);
  EXPECT_GT(changes, 0u);
  maker.remove(*pods[0]);
  EXPECT_EQ(maker.count(uid).live, 0);
  EXPECT_TRUE(maker.live_pods(uid).empty());
}

TEST_F(PodMakerTest, CountsAreThoseOfThePodsAfterEveryChange) {
  ASSERT_TRUE(owner);
  std::string uid = owner->meta.uid.str();
  PodMaker::Counts most;
  auto run_and_compare = [&] {
    Duration end = cluster.loop.uptime() + minutes(3);
    while (cluster.loop.uptime() < end && cluster.loop.step()) {
      PodMaker::Counts shown;
      view.pods().for_each("owner", uid, [&](const Object& pod) {
        bool failed = phase_of(*pod) == PodPhase::failed;
        bool live = !is_finished(*pod) && !pod->meta.is_deleting();
        shown.failed += failed ? 1 : 0;
        shown.live += live ? 1 : 0;
        shown.ready += live && is_ready(*pod) ? 1 : 0;
      });
      PodMaker::Counts counts = maker.count(uid);
      ASSERT_EQ(counts.live, shown.live);
      ASSERT_EQ(counts.ready, shown.ready);
      ASSERT_EQ(counts.failed, shown.failed);
      most.ready = std::max(most.ready, counts.ready);
      most.failed = std::max(most.failed, counts.failed);
    }
  };
  // The cluster's own controller makes them.
  ASSERT_TRUE(cluster.call(merge_patch(resource::replica_sets, owner->meta.key(),
                                       JsonObject{{"spec", JsonObject{{"replicas", 3}}}})));
  run_and_compare();
  std::vector<Object> pods = maker.live_pods(uid);
  ASSERT_EQ(pods.size(), 3u);
  auto set_phase = [&](const Object& pod, std::string_view phase) {
    ASSERT_TRUE(
        cluster.call(status_patch(resource::pods, pod->meta.key(), JsonObject{{"phase", phase}})));
  };
  set_phase(pods[0], "Succeeded");
  set_phase(pods[1], "Failed");
  ASSERT_TRUE(cluster.call(remove_exactly(resource::pods, pods[2]->meta.key(), pods[2]->meta.uid)));
  run_and_compare();
  EXPECT_EQ(most.ready, 3);
  EXPECT_EQ(most.failed, 1);
  EXPECT_EQ(maker.take_succeeded(uid), std::set<std::string>{pods[0]->meta.uid.str()});
  EXPECT_TRUE(maker.take_succeeded(uid).empty());
}

TEST_F(PodMakerTest, WhatWasRefusedIsForgotten) {
  ASSERT_TRUE(owner);
  std::string uid = owner->meta.uid.str();
  Json broken = owner->document->at("spec").at("template");
  broken.as_object()["spec"].as_object()["containers"] = JsonArray{};
  maker.create(resource::replica_sets, *owner, broken, {}, "Always");
  EXPECT_EQ(maker.count(uid).unseen, 1);
  cluster.loop.run_for(seconds(10));
  EXPECT_EQ(maker.count(uid).unseen, 0);
}

}  // namespace
}  // namespace lockstep::sim::pod_maker_test
