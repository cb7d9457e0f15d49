#include "view/live_status.h"

#include "rollout/rollout_progress.h"
#include "view/watched_fleet_test_util.h"

namespace lockstep::view::live_status_test {
namespace {

using fleet::State;

FleetWatchOptions with_rollouts() {
  FleetWatchOptions options;
  options.rollouts.enabled = true;
  return options;
}

// Two waves of which the first has opened; the counts of the status are from its beginning.
struct Scene : WatchedFleet {
  Scene() : WatchedFleet(with_rollouts()) {
    add_policy(R"({"autoUpgrade":true})");
    add_set(operator_ns, driver_set);
    add_revision("r1", 1);
    for (const char* name : {"gpu-1", "gpu-2", "gpu-3"}) {
      add_node(name);
      add_driver(std::string("driver-of-") + name, name);
    }
    rollout::RolloutStatus status;
    status.phase = rollout::Phase::upgrading;
    status.to = {{{"gpu-operator/" + std::string(driver_set), "r1"}}, "580.126.20"};
    status.open_waves = 1;
    status.waves.resize(2);
    status.waves[0].name = "canary";
    status.waves[0].nodes = 2;
    Json object = json_of(R"({"metadata":{"name":"driver"},"spec":{
        "driver":{"kind":"ClusterPolicy","name":"cluster-policy"},
        "waves":[{"name":"canary","nodes":{"count":2}},{"name":"rest","nodes":{"rest":true}}]}})");
    object.as_object()["status"] = rollout_status_to_json(status);
    put(fleet::driver_rollouts, {"", "driver"}, std::move(object));
    const ObjectKey key{"lockstep-system", wave_name("driver", 0)};
    put(resource::config_maps, key,
        wave_to_json(key, "driver", 0, {rollout::revision_id(status.to), {"gpu-1", "gpu-2"}}, ""));
    start();
    watch->count_changed();
  }
  rollout::WaveStatus wave(size_t index) {
    watch->count_changed();
    return live_status(*watch, watch->rollouts().all().at("driver")).waves.at(index);
  }
};

TEST(WaveCounts, AreThoseOfTheFleetAtThisMoment) {
  Scene scene;
  ASSERT_EQ(scene.watch->rollouts().all().size(), 1U);
  EXPECT_EQ(scene.wave(0).done, 0);
  EXPECT_EQ(scene.wave(0).pending, 2);
  scene.add_state("gpu-1", State::done);
  scene.add_state("gpu-2", State::failed);
  scene.settle();
  EXPECT_EQ(scene.watch->rollouts().all().at("driver").status.waves[0].done, 0)
      << "the controller has not written it yet";
  EXPECT_EQ(scene.wave(0).nodes, 2);
  EXPECT_EQ(scene.wave(0).done, 1);
  EXPECT_EQ(scene.wave(0).failed, 1);
  EXPECT_EQ(scene.wave(0).pending, 0);
  EXPECT_EQ(scene.wave(1).nodes, 1) << "who is in no wave yet is in the last";
}

}  // namespace
}  // namespace lockstep::view::live_status_test
