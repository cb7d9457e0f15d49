#include "rollout/rollout_gate.h"

#include <gtest/gtest.h>

namespace lockstep::rollout::rollout_gate_test {
namespace {

constexpr const char* set = "gpu-operator/driver";

DriverRevision revision(const std::string& hash) { return {{{set, hash}}, hash}; }

RolloutGate gate_in(Phase phase) {
  RolloutGate gate;
  gate.rollout = "driver";
  gate.status.phase = phase;
  gate.status.stable = revision("old");
  gate.status.open_for = revision("new");
  gate.status.open_waves = 1;
  gate.wave_names = {"canary", "tenth", "rest"};
  gate.wave_of = {{"gpu-1", 0}, {"gpu-2", 1}};
  return gate;
}

TEST(RolloutGate, OnlyOpenWavesMayBegin) {
  RolloutGate gate = gate_in(Phase::upgrading);
  EXPECT_FALSE(hold_of(gate, "gpu-1", set, "new"));
  auto held = hold_of(gate, "gpu-2", set, "new");
  ASSERT_TRUE(held);
  EXPECT_EQ(held->name, "WaveNotOpen");
  EXPECT_EQ(held->text, "wave tenth of rollout driver is not open; canary is Upgrading");
  EXPECT_TRUE(hold_of(gate, "gpu-99", set, "new"));
  gate.status.open_waves = 3;
  EXPECT_FALSE(hold_of(gate, "gpu-99", set, "new"));
}

TEST(RolloutGate, AWaveIsOpenForOneRevisionOnly) {
  RolloutGate gate = gate_in(Phase::upgrading);
  EXPECT_TRUE(hold_of(gate, "gpu-1", set, "newer"));
  EXPECT_TRUE(hold_of(gate, "gpu-1", "another/set", "new"));
}

TEST(RolloutGate, WhileTheNewestRevisionIsNotKnownNothingBegins) {
  for (Phase phase : {Phase::pending, Phase::upgrading, Phase::complete}) {
    auto held = hold_of(gate_in(phase), "gpu-1", set, "");
    ASSERT_TRUE(held) << to_string(phase);
    EXPECT_EQ(held->name, "RevisionUnknown");
  }
}

TEST(RolloutGate, ClosedWavesHoldEverybody) {
  RolloutGate gate = gate_in(Phase::held);
  gate.status.closed = true;
  EXPECT_TRUE(hold_of(gate, "gpu-1", set, "new"));
}

TEST(RolloutGate, WhatTheFleetRunsAnywayMayBePutRight) {
  for (Phase phase : {Phase::pending, Phase::complete, Phase::rolled_back}) {
    RolloutGate gate = gate_in(phase);
    EXPECT_FALSE(hold_of(gate, "gpu-9", set, "old")) << to_string(phase);
    EXPECT_TRUE(hold_of(gate, "gpu-9", set, "new")) << to_string(phase);
  }
}

TEST(RolloutGate, NothingBeginsWhileItIsPaused) {
  RolloutGate gate = gate_in(Phase::upgrading);
  gate.paused = true;
  ASSERT_TRUE(hold_of(gate, "gpu-1", set, "new"));
  EXPECT_EQ(hold_of(gate, "gpu-1", set, "new")->name, "RolloutPaused");
  EXPECT_EQ(hold_of(gate, "gpu-2", set, "new")->name, "WaveNotOpen");
}

TEST(RolloutGate, NothingBeginsOutsideAWindow) {
  RolloutGate gate = gate_in(Phase::upgrading);
  gate.window.open = false;
  gate.window.until = Time::from_unix(1'800'000'000);
  auto held = hold_of(gate, "gpu-1", set, "new");
  ASSERT_TRUE(held);
  EXPECT_EQ(held->name, "OutsideWindow");
  EXPECT_NE(held->text.find("2027-01-15T08:00:00Z"), std::string::npos) << held->text;
}

// A canary must not serve over a weekend on a driver that has failed.
TEST(RolloutGate, WindowsDoNotHoldARollback) {
  RolloutGate gate = gate_in(Phase::rolling_back);
  gate.window.open = false;
  EXPECT_FALSE(hold_of(gate, "gpu-1", set, "new"));
  gate.paused = true;
  EXPECT_TRUE(hold_of(gate, "gpu-1", set, "new")) << "a user's pause does";
}

}  // namespace
}  // namespace lockstep::rollout::rollout_gate_test
