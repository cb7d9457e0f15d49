#include "view/kept_bake.h"

#include <gtest/gtest.h>

#include "view/watched_fleet_test_util.h"

namespace lockstep::view::kept_bake_test {
namespace {

TEST(KeptBake, WhatIsNoBakeIsNone) {
  EXPECT_FALSE(KeptBake::from_map(ConfigMap{}));
  // Of a version that did not say on which node events happened.
  ConfigMap old;
  old.data.set(Text("record"), Text("{\"began\":\"2026-11-15T00:00:00Z\"}\n"));
  old.data.set(Text("until"), Text("2026-11-15T01:00:00Z"));
  old.data.set(Text("seen"), Text("{}"));
  EXPECT_FALSE(KeptBake::from_map(old));
}

TEST(KeptBake, GpusAreCountedByTheLabelAndElseByTheNodesOwnWords) {
  auto node = std::make_shared<Node>();
  EXPECT_EQ(read_health(node).gpus, 0);
  EXPECT_FALSE(read_health(node).counts);
  node->meta.annotations.set(Text(health_annotation), Text(R"({"gpus":4,"FatalXid":1})"));
  EXPECT_EQ(read_health(node).gpus, 4);
  EXPECT_EQ(read_health(node).counts->at("FatalXid"), 1);
  node->meta.labels.set(Text("nvidia.com/gpu.count"), Text("8"));
  EXPECT_EQ(read_health(node).gpus, 8);
}

// One of an earlier try of the wave says nothing about this one.
TEST(KeptBake, CountsForTheTryOfTheWaveInWhichItBegan) {
  FleetWatchOptions options;
  options.rollouts.enabled = true;
  WatchedFleet fleet(options);
  KeptBake kept;
  kept.record.began = Time::from_unix(1'790'000'000);
  kept.record.rules.duration = hours(1);
  const ObjectKey key{"lockstep-system", bake_name("driver", 0)};
  fleet.put(resource::config_maps, key, kept.to_json(key, "driver", ""));
  fleet.start();
  auto object = std::make_shared<GenericObject>();
  object->meta.name = "driver";
  KnownRollout rollout;
  rollout.object = object;
  rollout.status.waves.resize(1);
  const RolloutWatch& watch = fleet.watch->rollouts();
  ASSERT_TRUE(kept_bake(watch, "driver", 0));
  EXPECT_FALSE(bake_so_far(watch, rollout, 0)) << "it has not begun";
  rollout.status.waves[0].bake_began = kept.record.began;
  EXPECT_TRUE(bake_so_far(watch, rollout, 0));
  EXPECT_FALSE(bake_so_far(watch, rollout, 1)) << "there is no such wave";
  rollout.status.waves[0].bake_began = kept.record.began + hours(1);
  EXPECT_FALSE(bake_so_far(watch, rollout, 0)) << "that was the try before";
}

}  // namespace
}  // namespace lockstep::view::kept_bake_test
