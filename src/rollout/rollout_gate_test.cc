#include "rollout/rollout_gate.h"

#include <gtest/gtest.h>

namespace lockstep::rollout::rollout_gate_test {
namespace {

constexpr const char* set = "gpu-operator/driver";

std::string version_of(const std::string& hash) { return hash == "old" ? "570.1" : "580.1"; }
DriverRevision revision(const std::string& hash) { return {{{set, hash}}, version_of(hash)}; }

// A node that still runs the old one.
NodeDriver coming(const std::string& newest, const std::string& of = set) {
  return {of, newest, "old", "driver:570.1-ubuntu24.04", Time::from_unix(1'800'000'000)};
}

// Its pod started with it.
NodeDriver running(const std::string& newest) {
  return {set, newest, newest, "driver:" + version_of(newest) + "-ubuntu24.04",
          Time::from_unix(1'800'000'000)};
}

RolloutGate gate_in(Phase phase) {
  RolloutGate gate;
  gate.rollout = "driver";
  gate.status.phase = phase;
  gate.status.stable = revision("old");
  gate.status.from = revision("old");
  gate.status.to = revision("new");
  gate.status.open_for = revision("new");
  gate.status.open_waves = 1;
  gate.wave_names = {"canary", "tenth", "rest"};
  gate.wave_of = {{"gpu-1", 0}, {"gpu-2", 1}};
  return gate;
}

TEST(RolloutGate, OnlyOpenWavesMayBegin) {
  RolloutGate gate = gate_in(Phase::upgrading);
  EXPECT_FALSE(hold_of(gate, "gpu-1", coming("new", set)));
  auto held = hold_of(gate, "gpu-2", coming("new", set));
  ASSERT_TRUE(held);
  EXPECT_EQ(held->name, "WaveNotOpen");
  EXPECT_EQ(held->text, "wave tenth of rollout driver is not open; canary is Upgrading");
  EXPECT_TRUE(hold_of(gate, "gpu-99", coming("new", set)));
  gate.status.open_waves = 3;
  EXPECT_FALSE(hold_of(gate, "gpu-99", coming("new", set)));
}

TEST(RolloutGate, AWaveIsOpenForOneRevisionOnly) {
  RolloutGate gate = gate_in(Phase::upgrading);
  EXPECT_TRUE(hold_of(gate, "gpu-1", coming("newer", set)));
  EXPECT_TRUE(hold_of(gate, "gpu-1", coming("new", "another/set")));
}

TEST(RolloutGate, WhileTheNewestRevisionIsNotKnownNothingBegins) {
  for (Phase phase : {Phase::pending, Phase::upgrading, Phase::complete}) {
    auto held = hold_of(gate_in(phase), "gpu-1", coming("", set));
    ASSERT_TRUE(held) << to_string(phase);
    EXPECT_EQ(held->name, "RevisionUnknown");
  }
}

TEST(RolloutGate, ClosedWavesHoldEverybody) {
  RolloutGate gate = gate_in(Phase::held);
  gate.status.closed = true;
  EXPECT_TRUE(hold_of(gate, "gpu-1", coming("new", set)));
}

TEST(RolloutGate, WhatTheFleetRunsAnywayMayBePutRight) {
  for (Phase phase : {Phase::pending, Phase::complete, Phase::rolled_back}) {
    RolloutGate gate = gate_in(phase);
    EXPECT_FALSE(hold_of(gate, "gpu-9", coming("old", set))) << to_string(phase);
    EXPECT_TRUE(hold_of(gate, "gpu-9", coming("new", set))) << to_string(phase);
  }
}

TEST(RolloutGate, NothingBeginsWhileItIsPaused) {
  RolloutGate gate = gate_in(Phase::upgrading);
  gate.paused = true;
  ASSERT_TRUE(hold_of(gate, "gpu-1", coming("new", set)));
  EXPECT_EQ(hold_of(gate, "gpu-1", coming("new", set))->name, "RolloutPaused");
  EXPECT_EQ(hold_of(gate, "gpu-2", coming("new", set))->name, "WaveNotOpen");
}

TEST(RolloutGate, NothingBeginsOutsideAWindow) {
  RolloutGate gate = gate_in(Phase::upgrading);
  gate.window.open = false;
  gate.window.until = Time::from_unix(1'800'000'000);
  auto held = hold_of(gate, "gpu-1", coming("new", set));
  ASSERT_TRUE(held);
  EXPECT_EQ(held->name, "OutsideWindow");
  EXPECT_NE(held->text.find("2027-01-15T08:00:00Z"), std::string::npos) << held->text;
}

// A canary must not serve over a weekend on a driver that has failed.
TEST(RolloutGate, WindowsDoNotHoldARollback) {
  RolloutGate gate = gate_in(Phase::rolling_back);
  gate.window.open = false;
  EXPECT_FALSE(hold_of(gate, "gpu-1", coming("new")));
  gate.paused = true;
  EXPECT_TRUE(hold_of(gate, "gpu-1", coming("new"))) << "a user's pause does";
}

TEST(Containment, ANewDriverOutsideTheOpenWavesIsContained) {
  RolloutGate gate = gate_in(Phase::awaiting_approval);
  EXPECT_FALSE(containment_of(gate, "gpu-1", running("new"))) << "its wave is open";
  for (const char* node : {"gpu-2", "gpu-99"}) {
    auto outside = containment_of(gate, node, running("new"));
    ASSERT_TRUE(outside) << node;
    EXPECT_EQ(outside->name, "UpgradedOutsideWave");
    EXPECT_NE(outside->text.find("started with 580.1"), std::string::npos) << outside->text;
  }
  EXPECT_FALSE(containment_of(gate, "gpu-2", running("old")));
  EXPECT_FALSE(containment_of(gate, "gpu-2", coming("new"))) << "it runs the old one";
  EXPECT_FALSE(containment_of(gate, "gpu-2", NodeDriver{set, "new", "", "", {}})) << "no pod";
}

TEST(Containment, ClosedWavesStayOpenToWhatWasUpgradedInThem) {
  RolloutGate gate = gate_in(Phase::held);
  gate.status.closed = true;
  EXPECT_FALSE(containment_of(gate, "gpu-1", running("new")));
  EXPECT_TRUE(containment_of(gate, "gpu-2", running("new")));
}

TEST(Containment, BeforeARolloutBeginsEveryNodeIsOutside) {
  for (Phase phase : {Phase::pending, Phase::complete, Phase::rolled_back}) {
    RolloutGate gate = gate_in(phase);
    gate.status.open_waves = 3;
    EXPECT_TRUE(containment_of(gate, "gpu-1", running("new"))) << to_string(phase);
    EXPECT_FALSE(containment_of(gate, "gpu-1", running("old"))) << to_string(phase);
  }
}

TEST(Containment, WhatIsNotKnownIsNotContained) {
  RolloutGate gate = gate_in(Phase::pending);
  gate.status.stable = {};
  EXPECT_FALSE(containment_of(gate, "gpu-1", running("new"))) << "what the fleet runs is unknown";
  gate = gate_in(Phase::pending);
  gate.created = Time::from_unix(1'800'000'001);
  EXPECT_FALSE(containment_of(gate, "gpu-1", running("new"))) << "the pod is older";
  gate = gate_in(Phase::upgrading);
  NodeDriver other_kernel = running("new");
  other_kernel.set = "gpu-operator/driver-6.8";
  EXPECT_TRUE(containment_of(gate, "gpu-2", other_kernel));
  other_kernel.image = "driver:570.1-6.8.0-ubuntu24.04";
  EXPECT_FALSE(containment_of(gate, "gpu-2", other_kernel)) << "a new DaemonSet, the same version";
}

TEST(Containment, WhatARollbackRestoresIsAllowedEverywhere) {
  RolloutGate gate = gate_in(Phase::rolling_back);
  gate.status.waves_to_return = 1;
  gate.status.closed = true;
  EXPECT_TRUE(containment_of(gate, "gpu-2", running("new")));
  gate.status.closed = false;
  gate.status.open_for = revision("old-again");
  EXPECT_FALSE(containment_of(gate, "gpu-2", running("old-again")));
}

TEST(Containment, AUserMayAcceptIt) {
  RolloutGate gate = gate_in(Phase::awaiting_approval);
  gate.outside_wave = OutsideWave::accept;
  EXPECT_FALSE(containment_of(gate, "gpu-2", running("new")));
  EXPECT_FALSE(hold_of(gate, "gpu-2", running("new"))) << "one that is contained is released";
  EXPECT_TRUE(hold_of(gate, "gpu-2", coming("new")));
}

TEST(RolloutGate, ARollbackReachesNodesThatGotTheRejectedVersionOutsideTheWaves) {
  RolloutGate gate = gate_in(Phase::rolling_back);
  gate.status.waves_to_return = 1;
  gate.status.open_for = revision("old");
  NodeDriver rejected{set, "old", "new", "driver:580.1", {}};
  EXPECT_FALSE(hold_of(gate, "gpu-2", rejected));
  EXPECT_FALSE(hold_of(gate, "gpu-99", rejected));
  NodeDriver same_version{set, "old", "older-hash", "driver:570.1", {}};
  EXPECT_TRUE(hold_of(gate, "gpu-2", same_version)) << "what it runs does not have to go";
  // An image without a version in its tag: the object's version counts.
  gate.status.from.fields = DriverFields{JsonObject{{"version", "sha256:aa"}}};
  same_version.image = "driver@sha256:aa";
  EXPECT_TRUE(hold_of(gate, "gpu-2", same_version));
  same_version.image = "driver@sha256:bb";
  EXPECT_FALSE(hold_of(gate, "gpu-2", same_version)) << "it runs another driver";
  gate.status.closed = true;
  EXPECT_TRUE(hold_of(gate, "gpu-2", rejected)) << "the version is not restored yet";
}

TEST(RolloutGate, AShorterSpecOpensNoWaveToOtherNodes) {
  RolloutGate gate = gate_in(Phase::upgrading);
  for (const std::string& name : gate.wave_names) {
    WaveStatus wave;
    wave.name = name;
    gate.status.waves.push_back(wave);
  }
  RolloutSpec spec;
  WaveSpec rest;
  rest.name = "rest";
  spec.waves = {rest};
  gate.wave_names = waves_in_force(spec, gate.status);
  EXPECT_EQ(gate.wave_names, (std::vector<std::string>{"canary", "tenth", "rest"}));
  auto held = hold_of(gate, "gpu-99", coming("new", set));
  ASSERT_TRUE(held) << "until the controller holds the rollout";
  EXPECT_EQ(held->name, "WaveNotOpen");
  EXPECT_TRUE(containment_of(gate, "gpu-99", running("new")));
  gate.status.phase = Phase::rolling_back;
  EXPECT_EQ(waves_in_force(spec, gate.status), std::vector<std::string>{"rest"});
  gate.status.phase = Phase::complete;
  EXPECT_EQ(waves_in_force(spec, gate.status), std::vector<std::string>{"rest"});
}

}  // namespace
}  // namespace lockstep::rollout::rollout_gate_test
