#include "view/rollout_watch.h"

#include <gtest/gtest.h>

#include "view/watched_fleet_test_util.h"

namespace lockstep::view::rollout_watch_test {
namespace {

KnownRollout rollout_of(rollout::DriverKind kind, const std::string& name) {
  KnownRollout rollout;
  rollout.spec.driver = {kind, name};
  return rollout;
}

TEST(KnownRollout, CoversTheNodesOfItsDriver) {
  KnownRollout policy = rollout_of(rollout::DriverKind::cluster_policy, "cluster-policy");
  EXPECT_TRUE(policy.covers("", "gpu-operator/driver"));
  EXPECT_FALSE(policy.covers("h100", "gpu-operator/driver"));
  KnownRollout driver = rollout_of(rollout::DriverKind::nvidia_driver, "h100");
  EXPECT_TRUE(driver.covers("h100", "gpu-operator/driver"));
  EXPECT_FALSE(driver.covers("", "gpu-operator/driver"));
  KnownRollout set = rollout_of(rollout::DriverKind::daemon_set, "driver");
  EXPECT_TRUE(set.covers("", "gpu-operator/driver"));
  EXPECT_FALSE(set.covers("", "gpu-operator/other-driver"));
  EXPECT_TRUE(rollout_of(rollout::DriverKind::daemon_set, "a/driver").covers("", "a/driver"));
  EXPECT_FALSE(rollout_of(rollout::DriverKind::daemon_set, "a/driver").covers("", "b/driver"));
}

TEST(KnownRollout, IsActiveBetweenItsBeginningAndItsEnd) {
  KnownRollout rollout;
  for (auto [phase, active] : {std::pair{rollout::Phase::pending, false},
                               {rollout::Phase::upgrading, true},
                               {rollout::Phase::held, true},
                               {rollout::Phase::rolling_back, true},
                               {rollout::Phase::complete, false},
                               {rollout::Phase::rolled_back, false}}) {
    rollout.status.phase = phase;
    EXPECT_EQ(rollout.is_active(), active) << to_string(phase);
  }
}

TEST(RolloutWatch, ARolloutWithAJobGateIsInvalidWhereTheyAreOff) {
  for (bool allowed : {true, false}) {
    FleetWatchOptions options;
    options.rollouts.enabled = true;
    options.rollouts.allows_job_gates = allowed;
    WatchedFleet fleet(options);
    fleet.add_usual();
    fleet.put(fleet::driver_rollouts, {"", "driver"}, json_of(R"({
        "apiVersion":"lockstep.dev/v1alpha1","kind":"DriverRollout","metadata":{"name":"driver"},
        "spec":{"driver":{"kind":"ClusterPolicy","name":"p"},"waves":[{"name":"a",
          "nodes":{"rest":true},"gates":["driver",{"name":"mine","job":{"template":{"spec":{
            "containers":[{"name":"c","image":"i"}]}}}}]}]}})"));
    fleet.start();
    ASSERT_TRUE(fleet.watch->rollouts().all().contains("driver"));
    const std::vector<std::string>& problems =
        fleet.watch->rollouts().all().at("driver").spec.problems;
    EXPECT_EQ(problems, allowed ? std::vector<std::string>{}
                                : std::vector<std::string>{"gate mine of wave a: " +
                                                           std::string(job_gates_are_off)});
  }
}

TEST(Wave, IsKeptInAConfigMapOfItsRollout) {
  EXPECT_EQ(wave_name("driver", 2), "lockstep-wave-driver-2");
  Json json = wave_to_json({"ns", "lockstep-wave-driver-2"}, "driver", 2,
                           {"a/b=c", {"gpu-1", "gpu-10"}}, "77");
  EXPECT_EQ(text_at(json, "data", "nodes"), "gpu-1\ngpu-10");
  EXPECT_EQ(text_at(json, "metadata", "resourceVersion"), "77");
  EXPECT_EQ(text_at(json, "metadata", "labels", "lockstep.dev/rollout"), "driver");
}

}  // namespace
}  // namespace lockstep::view::rollout_watch_test
