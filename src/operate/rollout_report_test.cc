#include "operate/rollout_report.h"

#include <gtest/gtest.h>

#include "view/watched_fleet_test_util.h"

namespace lockstep::operate::rollout_report_test {
namespace {

constexpr Time began = Time::from_unix(1'790'000'000);

rollout::RolloutSpec spec_of_two() {
  rollout::RolloutSpec spec;
  spec.waves.resize(2);
  spec.waves[0].name = "canary";
  spec.waves[0].bake = rollout::BakeSpec{};
  spec.waves[0].bake->duration = hours(2);
  spec.waves[1].name = "rest";
  spec.waves[1].needs_approval = true;
  return spec;
}

rollout::RolloutStatus status_of_canary(rollout::Phase phase) {
  rollout::RolloutStatus status;
  status.phase = phase;
  status.from.version = "580.105.08";
  status.to.version = "580.126.20";
  status.open_waves = 1;
  status.waves.resize(1);
  status.waves[0].name = "canary";
  status.waves[0].opened = status.waves[0].bake_began = began;
  status.waves[0].nodes = 4;
  status.waves[0].done = 3;
  return status;
}

TEST(RolloutReport, HasTheWavesOfTheStatusAndThoseThatAreOnlyAskedFor) {
  const RolloutReport report =
      report_rollout("weekly", spec_of_two(), status_of_canary(rollout::Phase::upgrading), {});
  ASSERT_EQ(report.waves.size(), 2U);
  EXPECT_EQ(report.waves[0].state, "Upgrading");
  EXPECT_EQ(report.waves[1].status.name, "rest");
  EXPECT_EQ(report.waves[1].state, "not open");
  EXPECT_TRUE(report.waves[1].needs_approval);
  EXPECT_EQ(report.current(), report.waves.data());
  EXPECT_EQ(report.direction.to, "580.126.20");
  EXPECT_EQ(progress_line(report), "Upgrading canary: 3 of 4 nodes done");
}

// A user took it out of the spec while it was open.
TEST(RolloutReport, AWaveThatIsNoLongerAskedForIsStillThere) {
  const RolloutReport report =
      report_rollout("weekly", {}, status_of_canary(rollout::Phase::upgrading), {});
  ASSERT_EQ(report.waves.size(), 1U);
  EXPECT_EQ(report.waves[0].status.name, "canary");
  EXPECT_FALSE(report.waves[0].asked);
}

TEST(RolloutReport, ABakeHasTimeLeftOnlyWhileItGoesOn) {
  rollout::BakeVerdict seen;
  seen.outcome = rollout::BakeOutcome::going_on;
  seen.passed = minutes(90);
  seen.gpu_hours = seen.min_gpu_hours = 1;
  auto left = [&](rollout::Phase phase) {
    return report_rollout("weekly", spec_of_two(), status_of_canary(phase), {seen}).waves[0].left;
  };
  EXPECT_EQ(left(rollout::Phase::baking), std::optional<Duration>(minutes(30)));
  EXPECT_FALSE(left(rollout::Phase::promoting));
}

TEST(RolloutReport, BeforeItsFirstWaveThereIsNoneInProgress) {
  rollout::RolloutStatus status;
  status.message = "all nodes run 580.126.20";
  const RolloutReport report = report_rollout("weekly", spec_of_two(), status, {});
  EXPECT_EQ(report.current(), nullptr);
  EXPECT_EQ(progress_line(report), "Pending: all nodes run 580.126.20");
}

// Four nodes in one wave, of which three came to their end ten minutes apart; its first wave is
// open.
struct Scene : view::WatchedFleet {
  explicit Scene(bool paused = false, Duration opened = hours(1)) : WatchedFleet(with_rollouts()) {
    add_policy(R"({"autoUpgrade":true})");
    add_set(view::operator_ns, view::driver_set);
    add_revision("r1", 1);
    rollout::RolloutStatus status = status_of_canary(rollout::Phase::upgrading);
    const std::string set = std::string(view::operator_ns) + "/" + std::string(view::driver_set);
    status.to.revisions[set] = "r1";
    status.waves[0].opened = loop.now() - opened;
    rollout::RecordedWave record{rollout::revision_id(status.to), {}};
    for (int i = 0; i < 4; ++i) {
      const std::string name = fmt::format("gpu-{}", i);
      record.nodes.push_back(name);
      add_node(name, fmt::format(R"({{"metadata":{{"annotations":{{"{}":"{}"}}}}}})",
                                 fleet::since_annotation,
                                 format_rfc3339(loop.now() - minutes(10 * (i + 1)))));
      add_driver("driver-of-" + name, name);
      add_state(name, i < 3 ? fleet::State::done : fleet::State::pod_restart);
    }
    Json object = view::json_of(fmt::format(
        R"({{"metadata":{{"name":"driver"}},"spec":{{"paused":{},
            "driver":{{"kind":"ClusterPolicy","name":"cluster-policy"}},
            "waves":[{{"name":"canary","nodes":{{"rest":true}}}}]}}}})",
        paused));
    object.as_object()["status"] = rollout::rollout_status_to_json(status);
    put(fleet::driver_rollouts, {"", "driver"}, std::move(object));
    const ObjectKey key{"lockstep-system", view::wave_name("driver", 0)};
    put(resource::config_maps, key, view::wave_to_json(key, "driver", 0, record, ""));
    start();
  }
  RolloutReport report() {
    const FleetStatus shown = look_at_fleet(*watch, loop.now());
    return report_rollout(*watch, watch->rollouts().all().at("driver"), shown);
  }
  static view::FleetWatchOptions with_rollouts() {
    view::FleetWatchOptions options;
    options.rollouts.enabled = true;
    return options;
  }
};

TEST(RolloutReport, EstimatesAWaveByThePaceOfItsOwnNodes) {
  const RolloutReport report = Scene().report();
  ASSERT_EQ(report.waves.size(), 1U);
  EXPECT_EQ(report.waves[0].status.nodes, 4) << "as they are now";
  EXPECT_EQ(report.waves[0].status.done, 3);
  ASSERT_TRUE(report.waves[0].left);
  EXPECT_EQ(*report.waves[0].left, minutes(10));
}

TEST(RolloutReport, EstimatesNothingWhileAUserIsWaitedFor) {
  EXPECT_FALSE(Scene(true).report().waves.at(0).left);
}

TEST(RolloutReport, NodesThatWereDoneBeforeTheWaveOpenedSayNothingOfItsPace) {
  EXPECT_FALSE(Scene(false, minutes(1)).report().waves.at(0).left);
}

}  // namespace
}  // namespace lockstep::operate::rollout_report_test
