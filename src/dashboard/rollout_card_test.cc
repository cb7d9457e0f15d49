#include "dashboard/rollout_card.h"

#include <gtest/gtest.h>

namespace lockstep::dashboard::rollout_card_test {
namespace {

constexpr Time began = Time::from_unix(1'800'000'000);

rollout::RolloutSpec spec_of_two() {
  rollout::RolloutSpec spec;
  rollout::WaveSpec canary;
  canary.name = "canary";
  canary.needs_approval = true;
  canary.bake = rollout::BakeSpec{};
  canary.bake->min_gpu_hours = 100;
  rollout::GateSpec gate;
  gate.name = "training";
  canary.gates = {gate};
  rollout::WaveSpec rest;
  rest.name = "rest";
  spec.waves = {canary, rest};
  return spec;
}

Json card_of(const rollout::RolloutStatus& status, operate::WaveBakes bakes) {
  return rollout_card(operate::report_rollout("weekly", spec_of_two(), status, std::move(bakes)));
}

TEST(RolloutCard, WavesThatHaveNoStatusAreShownAsAskedFor) {
  Json card = card_of({}, {});
  ASSERT_EQ(card.at("waves").as_array().size(), 2U);
  const Json& canary = card.at("waves").at(0);
  EXPECT_EQ(canary.at("name").as_string(), "canary");
  EXPECT_EQ(canary.at("state").as_string(), "not open");
  EXPECT_EQ(canary.at("plannedGates").at(0).as_string(), "training");
  EXPECT_TRUE(canary.at("needsApproval").as_bool());
  EXPECT_EQ(as_number(canary.at("bake").at("targetGpuHours")), 100);
  EXPECT_TRUE(canary.at("bake").at("began").is_null());
  EXPECT_EQ(find(card.at("waves").at(1), "bake"), nullptr);
}

TEST(RolloutCard, ABakeIsShownInNumbersAgainstItsLimits) {
  rollout::RolloutStatus status;
  status.phase = rollout::Phase::baking;
  status.open_waves = 1;
  rollout::WaveStatus wave;
  wave.name = "canary";
  wave.opened = wave.bake_began = began;
  wave.gates = {{"training", rollout::Outcome::passed, "loss 0.1", false}};
  status.waves = {wave};
  rollout::BakeVerdict verdict;
  verdict.gpu_hours = 12.3456;
  verdict.evidence = 2.5;
  verdict.limit = 20;
  verdict.passed = minutes(10);
  verdict.kinds = {{"FatalXid", 2, 1, 2.5}};
  Json card = card_of(status, {verdict});
  const Json& canary = card.at("waves").at(0);
  EXPECT_EQ(canary.at("state").as_string(), "Baking");
  EXPECT_EQ(canary.at("gates").at(0).at("outcome").as_string(), "Passed");
  const Json& bake = canary.at("bake");
  EXPECT_EQ(as_number(bake.at("gpuHours")), 12.35);
  EXPECT_EQ(as_number(bake.at("seconds")), 600);
  EXPECT_EQ(as_number(bake.at("evidence")), 2.5);
  EXPECT_EQ(as_number(bake.at("limit")), 20);
  EXPECT_EQ(bake.at("kinds").at(0).at("upgraded").as_int64(), 2);
}

TEST(BakeClock, OfAFinishedBakeStands) {
  rollout::RolloutStatus status;
  status.phase = rollout::Phase::baking;
  status.open_waves = 1;
  rollout::WaveStatus wave;
  wave.opened = wave.bake_began = began;
  status.waves = {wave};
  rollout::BakeVerdict verdict;
  verdict.outcome = rollout::BakeOutcome::going_on;
  verdict.passed = seconds(5);
  verdict.gpu_hours = verdict.min_gpu_hours = 1;
  auto bake = [&] {
    Json card = card_of(status, {verdict});
    return card.at("waves").at(0).at("bake");
  };
  EXPECT_TRUE(bake().at("runs").as_bool());
  EXPECT_NE(find(bake(), "secondsLeft"), nullptr);
  status.phase = rollout::Phase::promoting;
  EXPECT_FALSE(bake().at("runs").as_bool()) << "whatever its record ends with";
  EXPECT_EQ(find(bake(), "secondsLeft"), nullptr);
}

TEST(RolloutCard, ARollbackPointsToThePreviousVersionAndAsksForNoApproval) {
  rollout::RolloutStatus status;
  status.phase = rollout::Phase::rolling_back;
  status.open_waves = 1;
  status.from.version = "580.105.08";
  status.to.version = "580.126.20";
  Json card = card_of(status, {});
  EXPECT_EQ(card.at("from").as_string(), "580.126.20");
  EXPECT_EQ(card.at("to").as_string(), "580.105.08");
  EXPECT_FALSE(card.at("waves").at(0).at("needsApproval").as_bool());
}

TEST(RolloutCard, SaysWhatWasDecidedByWhomTheLastOnly) {
  rollout::RolloutStatus status;
  for (int i = 0; i < 20; ++i) {
    status.history.push_back({began + seconds(i), rollout::Phase::held, "canary",
                              fleet::Reason::gate_failed, std::to_string(i), "ada"});
  }
  Json card = card_of(status, {});
  const JsonArray& history = card.at("history").as_array();
  ASSERT_EQ(history.size(), 12U);
  EXPECT_EQ(history.back().at("text").as_string(), "19");
  EXPECT_EQ(history.back().at("by").as_string(), "ada");
}

}  // namespace
}  // namespace lockstep::dashboard::rollout_card_test
