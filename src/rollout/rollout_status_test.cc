#include "rollout/rollout_status.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace lockstep::rollout::rollout_status_test {
namespace {

RolloutStatus full_status() {
  RolloutStatus status;
  status.phase = Phase::baking;
  status.phase_since = Time::from_unix(1'800'000'000);
  status.generation = 3;
  status.reason = fleet::Reason::baking;
  status.message = "2h of 48h";
  status.stable = {{{"a/b", "one"}}, "570"};
  status.from = status.stable;
  status.to = {{{"a/b", "two"}}, "580"};
  status.open_for = status.to;
  status.started = Time::from_unix(1'799'999'000);
  status.open_waves = 1;
  status.total = 12;
  status.by_state = {{"upgrade-done", 1}, {"upgrade-required", 11}};
  status.by_reason = {{Reason::wave_not_open, 11}};
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
  status.history = {{status.started, Phase::upgrading, "canary", Reason::wave_open, "open", "bob"}};
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
  for (int i = 0; i < 200; ++i) {
    status.history.push_back({{}, Phase::held, "w", Reason::nodes_failed, sentence, ""});
  }
  EXPECT_LT(print_json(rollout_status_to_json(status)).size(), 64U * 1024);
}

TEST(RolloutStatus, WhatIsNotThereIsPending) {
  EXPECT_EQ(read_rollout_status(JsonObject{}), RolloutStatus{});
}

// Whatever the fleet's size and the length of messages: 50 waves and 32 gates are the most that the
// definition allows.
TEST(RolloutStatus, StaysUnder64KiloBytesWithTheLargestSpecAndLongTexts) {
  const std::string much(5000, 'x');
  const std::string name(63, 'n');
  RolloutStatus status;
  status.phase = Phase::held;
  status.reason = fleet::Reason::gate_inconclusive;
  status.message = much;
  status.total = 10'000;
  status.last_command = std::string(300, 'c');
  status.open_waves = 50;
  for (int i = 0; i < 13; ++i) status.by_state["state-" + std::to_string(i)] = 10'000;
  for (int i = 0; i < 60; ++i) {
    status.by_reason[ReasonName::read("Reason" + std::to_string(i))] = 10'000;
  }
  for (DriverRevision* revision : {&status.stable, &status.from, &status.to, &status.open_for}) {
    revision->version = "580.126.20";
    for (int i = 0; i < 4; ++i)
      revision->revisions["gpu-operator/driver-" + std::to_string(i)] = "7d9f8c";
  }
  const Time at = Time::from_unix(1'800'000'000);
  for (int i = 0; i < 50; ++i) {
    WaveStatus wave;
    wave.name = name;
    wave.nodes = wave.done = 10'000;
    wave.opened = wave.bake_began = wave.approved_at = at;
    wave.verdict_text = wave.bake = wave.detectable = wave.approved_by = much;
    for (int gate = 0; gate < 32; ++gate) wave.gates.push_back({name, Outcome::failed, much, true});
    status.waves.push_back(wave);
  }
  for (size_t i = 0; i < 2 * most_history; ++i) {
    status.history.push_back(
        {at, Phase::awaiting_approval, name, Reason::gate_inconclusive, much, much});
  }
  Json json = rollout_status_to_json(status);
  EXPECT_LT(print_json(json).size(), 64U * 1024);
  RolloutStatus read = read_rollout_status(JsonObject{{"status", json}});
  ASSERT_EQ(read.waves.size(), 50U);
  EXPECT_EQ(read.waves[49].gates.size(), 32U) << "the current wave says what it is about";
  EXPECT_EQ(read.last_command, status.last_command) << "it is compared";
  EXPECT_EQ(read.history.size(), most_history);
  // What was cut once is not cut again.
  EXPECT_EQ(read_rollout_status(JsonObject{{"status", rollout_status_to_json(read)}}), read);
}

TEST(RolloutStatus, CutsNoLetterInTwo) {
  RolloutStatus status = full_status();
  for (size_t length = 490; length < 510; ++length) {
    status.message = std::string(length, 'x') + "äöü→→→";
    EXPECT_TRUE(is_valid_utf8(text_at(rollout_status_to_json(status), "message"))) << length;
  }
}

}  // namespace
}  // namespace lockstep::rollout::rollout_status_test
