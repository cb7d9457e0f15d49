#include "sim/pod_maker.h"

#include <gtest/gtest.h>

#include "sim/sim_test_util.h"

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
  EXPECT_EQ(maker.pods_of(uid).unseen, 1u);
  EXPECT_TRUE(maker.pods_of(uid).live.empty());
  // Before anybody else counts the owner's pods.
  while (maker.pods_of(uid).live.empty() && cluster.loop.step()) {
  }
  auto pods = maker.pods_of(uid);
  EXPECT_EQ(pods.unseen, 0u);
  ASSERT_EQ(pods.live.size(), 1u);
  EXPECT_EQ(pods.live[0]->meta.labels.get("extra"), "1");
  EXPECT_EQ(pods.live[0]->meta.controller()->uid, uid);
  EXPECT_GT(changes, 0u);
  maker.remove(*pods.live[0]);
  EXPECT_TRUE(maker.pods_of(uid).live.empty());
}

TEST_F(PodMakerTest, WhatWasRefusedIsForgotten) {
  ASSERT_TRUE(owner);
  std::string uid = owner->meta.uid.str();
  Json broken = owner->document->at("spec").at("template");
  broken.as_object()["spec"].as_object()["containers"] = JsonArray{};
  maker.create(resource::replica_sets, *owner, broken, {}, "Always");
  EXPECT_EQ(maker.pods_of(uid).unseen, 1u);
  cluster.loop.run_for(seconds(10));
  EXPECT_EQ(maker.pods_of(uid).unseen, 0u);
}

}  // namespace
}  // namespace lockstep::sim::pod_maker_test
