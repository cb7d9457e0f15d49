#include "view/fleet_caches.h"

#include <gtest/gtest.h>

#include "view/watched_fleet_test_util.h"

namespace lockstep::view::fleet_caches_test {
namespace {

TEST(FleetCaches, OfSeveralClusterPoliciesTheOldestCounts) {
  WatchedFleet scene;
  scene.put(cluster_policies, {"", "a-new"},
            merged(cluster_policy_json(R"({"maxParallelUpgrades":1})", "a-new"),
                   R"({"metadata":{"creationTimestamp":"2026-01-02T00:00:00Z"}})"));
  scene.put(cluster_policies, {"", "b-old"},
            merged(cluster_policy_json(R"({"maxParallelUpgrades":2})", "b-old"),
                   R"({"metadata":{"creationTimestamp":"2026-01-01T00:00:00Z"}})"));
  scene.start();
  EXPECT_EQ(scene.watch->policy("").source, "ClusterPolicy b-old");
  EXPECT_EQ(scene.watch->policy_reference()->name.view(), "b-old");
}

TEST(FleetCaches, KindsThatTheClusterDoesNotServeCountAsEmpty) {
  WatchedFleet scene;
  scene.add_usual();
  bool served = false;
  scene.api.intercept = [&](const kube::Request& request) -> std::optional<kube::Reply> {
    if (served || request.type.group != "nvidia.com") return std::nullopt;
    return kube::status_answer(404, "NotFound");
  };
  scene.start();
  EXPECT_TRUE(scene.watch->synced());
  EXPECT_EQ(scene.watch->missing(), "");
  EXPECT_FALSE(scene.watch->policy("").auto_upgrade);
  EXPECT_FALSE(scene.watch->policy_reference());
  // They may come at any time.
  served = true;
  scene.loop.run_for(minutes(2));
  EXPECT_TRUE(scene.watch->policy("").auto_upgrade);
}

TEST(FleetCaches, WhatIsStillMissingIsNamed) {
  WatchedFleet scene;
  scene.add_usual();
  scene.api.intercept = [&](const kube::Request& request) -> std::optional<kube::Reply> {
    if (request.type.plural != "pods") return std::nullopt;
    return kube::status_answer(403, "Forbidden", "pods is forbidden");
  };
  scene.start();
  EXPECT_FALSE(scene.watch->synced());
  EXPECT_NE(scene.watch->missing().find("pods ("), std::string::npos) << scene.watch->missing();
  EXPECT_NE(scene.watch->missing().find("forbidden"), std::string::npos);
  EXPECT_FALSE(scene.watch->caches().last_heard().is_set());
}

TEST(FleetCaches, LastHeardIsTheTimeOfTheKindThatIsFurthestBehind) {
  WatchedFleet scene;
  scene.add_usual();
  scene.api.sends_bookmarks = false;
  scene.start();
  Time listed = scene.watch->caches().last_heard();
  ASSERT_TRUE(listed.is_set());
  scene.loop.run_for(seconds(30));
  scene.add_node("gpu-2");
  scene.settle();
  // No pod event arrived since.
  EXPECT_EQ(scene.watch->caches().last_heard(), listed);
}

// A user with a role of the time before the notes.
TEST(OneAnswer, WithoutTheRightToReadTheNotesTheFleetIsShownAndSaysWhatIsMissing) {
  WatchedFleet scene;
  scene.add_usual();
  scene.api.intercept = [](const kube::Request& request) -> std::optional<kube::Reply> {
    if (request.type.plural != "configmaps") return std::nullopt;
    return kube::status_answer(403, "Forbidden", "configmaps is forbidden");
  };
  scene.start();
  EXPECT_TRUE(scene.watch->synced()) << scene.watch->missing();
  EXPECT_NE(scene.watch->caches().unreadable_notes().find("forbidden"), std::string::npos);
  EXPECT_TRUE(scene.watch->view("gpu-1"));
}

}  // namespace
}  // namespace lockstep::view::fleet_caches_test
