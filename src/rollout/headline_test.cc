#include "rollout/headline.h"

#include <gtest/gtest.h>

namespace lockstep::rollout::headline_test {
namespace {

RolloutStatus upgrading() {
  RolloutStatus status;
  status.phase = Phase::baking;
  status.from = {{{"gpu/driver", "a"}}, "580.105.08"};
  status.to = {{{"gpu/driver", "b"}}, "580.126.20"};
  status.open_for = status.to;
  status.open_waves = 1;
  status.waves.resize(2);
  status.waves[0].opened = Time::from_unix(1);
  return status;
}

TEST(Direction, PointsToTheVersionThatNodesGoTo) {
  RolloutStatus status = upgrading();
  EXPECT_EQ(direction_of(status), (Direction{"580.105.08", "580.126.20"}));
  status.phase = Phase::held;
  EXPECT_EQ(direction_of(status), (Direction{"580.105.08", "580.126.20"}));
}

TEST(Direction, OfARollbackPointsToThePreviousVersion) {
  RolloutStatus status = upgrading();
  for (Phase phase : {Phase::rolling_back, Phase::rolled_back}) {
    status.phase = phase;
    EXPECT_EQ(direction_of(status), (Direction{"580.126.20", "580.105.08"}));
  }
  status.phase = Phase::held;
  status.waves_to_return = 1;
  status.open_for = status.from;
  EXPECT_EQ(direction_of(status), (Direction{"580.126.20", "580.105.08"})) << "held in between";
}

TEST(BakeClock, RunsOnlyWhileTheWaveBakes) {
  RolloutStatus status = upgrading();
  EXPECT_TRUE(is_baking(status, 0));
  EXPECT_FALSE(is_baking(status, 1));
  for (Phase phase : {Phase::promoting, Phase::held, Phase::rolling_back, Phase::complete}) {
    status.phase = phase;
    EXPECT_FALSE(is_baking(status, 0)) << to_string(phase);
  }
}

TEST(BakeClock, ThatIsOverSaysWhatItGoesOnFor) {
  EXPECT_EQ(bake_clock(hours(13), hours(48)), "13h of 48h");
  EXPECT_EQ(bake_clock(seconds(5), seconds(5)), "5s of 5s");
  EXPECT_EQ(bake_clock(seconds(136), seconds(5)), "5s and 2m11s more");
}

TEST(WaveState, IsThePhaseOfTheCurrentWaveAndTheResultOfTheOthers) {
  RolloutStatus status = upgrading();
  EXPECT_EQ(wave_state(status, 0), "Baking");
  EXPECT_EQ(wave_state(status, 1), "not open");
  EXPECT_EQ(wave_state(status, 7), "not open");
  status.waves[0].verdict = Outcome::passed;
  status.phase = Phase::complete;
  EXPECT_EQ(wave_state(status, 0), "Passed");
}

TEST(ApprovalHint, IsNotShownDuringARollback) {
  RolloutSpec spec;
  spec.waves.resize(2);
  spec.waves[0].needs_approval = true;
  RolloutStatus status = upgrading();
  EXPECT_TRUE(needs_approval(spec, status, 0));
  EXPECT_FALSE(needs_approval(spec, status, 1));
  status.waves[0].approved_by = "ada";
  EXPECT_FALSE(needs_approval(spec, status, 0));
  status.waves[0].approved_by.clear();
  for (Phase phase : {Phase::rolling_back, Phase::rolled_back, Phase::complete}) {
    status.phase = phase;
    EXPECT_FALSE(needs_approval(spec, status, 0)) << to_string(phase);
  }
}

}  // namespace
}  // namespace lockstep::rollout::headline_test
