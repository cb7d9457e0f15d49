#include "rollout/rollout_status.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lockstep::rollout {
namespace {

RolloutStatus full_status() {
  RolloutStatus status;
  status.phase = Phase::baking;
  status.phase_since = Time::from_unix(1'800'000'000);
  status.generation = 3;
  status.reason = "Baking";
  status.message = "2h of 48h";
  status.stable = {{{"a/b", "one"}}, "570"};
  status.from = status.stable;
  status.to = {{{"a/b", "two"}}, "580"};
  status.open_for = status.to;
  status.started = Time::from_unix(1'799'999'000);
  status.open_waves = 1;
  status.total = 12;
  status.by_state = {{"upgrade-done", 1}, {"upgrade-required", 11}};
  status.by_reason = {{"WaveNotOpen", 11}};
  status.last_command = "{}";
  WaveStatus wave;
  wave.name = "canary";
  wave.nodes = wave.done = 1;
  wave.opened = status.started;
  wave.bake_began = status.phase_since;
  wave.gates = {{"driver", Outcome::passed, "1 nodes", false}, {"ecc", Outcome::failed, "", true}};
  wave.detectable = "600 times";
  wave.approved_by = "alice";
  wave.approved_at = status.phase_since;
  status.waves = {wave, {}};
  status.waves[1].name = "rest";
  status.history = {{status.started, Phase::upgrading, "canary", "WaveOpen", "open", "bob"}};
  return status;
}

TEST(RolloutStatus, ComesBackAsItWasWritten) {
  RolloutStatus status = full_status();
  Json json = rollout_status_to_json(status);
  EXPECT_EQ(read_rollout_status(JsonObject{{"status", json}}), status);
}

TEST(RolloutStatus, ShowsWhatKubectlPrintsAndWaitsFor) {
  RolloutStatus status = full_status();
  Json json = rollout_status_to_json(status);
  EXPECT_EQ(text_at(json, "wave"), "canary");
  EXPECT_EQ(text_at(json, "progress"), "1/12");
  EXPECT_EQ(text_at(json.at("conditions").at(0), "type"), "Complete");
  EXPECT_EQ(text_at(json.at("conditions").at(0), "status"), "False");
  status.phase = Phase::complete;
  json = rollout_status_to_json(status);
  EXPECT_EQ(text_at(json.at("conditions").at(0), "status"), "True");
}

TEST(RolloutStatus, OfTenThousandNodesIsSmall) {
  RolloutStatus status = full_status();
  status.total = 10'000;
  std::string sentence(2000, 'x');
  status.message = sentence;
  for (int i = 0; i < 6; ++i) {
    WaveStatus wave = status.waves[0];
    wave.bake = wave.verdict_text = wave.detectable = sentence;
    for (int gate = 0; gate < 5; ++gate) {
      wave.gates.push_back({fmt::format("gate-{}", gate), Outcome::failed, sentence, false});
    }
    status.waves.push_back(wave);
  }
  for (int i = 0; i < 200; ++i) status.history.push_back({{}, Phase::held, "w", "r", sentence, ""});
  EXPECT_LT(print_json(rollout_status_to_json(status)).size(), 64U * 1024);
}

TEST(RolloutStatus, WhatIsNotThereIsPending) {
  EXPECT_EQ(read_rollout_status(JsonObject{}), RolloutStatus{});
}

// Whatever the fleet's size, and however much everybody has to say.
TEST(RolloutStatus, StaysUnder64KiloBytesWithTenThousandNodesAndLongTexts) {
  const std::string much(5000, 'x');
  RolloutStatus status;
  status.phase = Phase::held;
  status.reason = "GateInconclusive";
  status.message = much;
  status.total = 10'000;
  status.last_command = much;
  for (int i = 0; i < 13; ++i) status.by_state["state-" + std::to_string(i)] = 10'000;
  for (int i = 0; i < 30; ++i) status.by_reason["Reason" + std::to_string(i)] = 10'000;
  for (DriverRevision* revision : {&status.stable, &status.from, &status.to, &status.open_for}) {
    revision->version = "580.126.20";
    for (int i = 0; i < 4; ++i)
      revision->revisions["gpu-operator/driver-" + std::to_string(i)] = "7d9f8c";
  }
  for (int i = 0; i < 6; ++i) {
    WaveStatus wave;
    wave.name = "wave-" + std::to_string(i);
    wave.nodes = wave.done = 1700;
    wave.verdict_text = wave.bake = wave.detectable = much;
    for (int gate = 0; gate < 8; ++gate) {
      wave.gates.push_back({"gate-" + std::to_string(gate), Outcome::failed, much, false});
    }
    status.waves.push_back(wave);
  }
  for (size_t i = 0; i < 2 * most_history; ++i) {
    status.history.push_back(
        {Time::from_unix(1'800'000'000), Phase::held, "wave-1", "Held", much, "alice"});
  }
  EXPECT_LT(print_json(rollout_status_to_json(status)).size(), 64U * 1024);
}

}  // namespace
}  // namespace lockstep::rollout
