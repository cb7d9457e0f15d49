#include "rollout/rollout_progress.h"

#include <gtest/gtest.h>

#include "rollout/rollout_test_util.h"

namespace lockstep::rollout::rollout_progress_test {
namespace {

TEST(Progress, CountsEveryNodeOnceInItsWave) {
  TestRollout rollout(
      5, "  waves: [{name: one, nodes: {count: 2}}, {name: rest, nodes: {rest: true}}]\n");
  rollout.view.status.to = revision("new", "580");
  rollout.view.recorded[0] =
      RecordedWave{revision_id(rollout.view.status.to), {"gpu-1", "gpu-2", "gone"}};
  rollout.view.status.open_waves = 1;
  rollout.set_version("new", "580");
  rollout.finish(1);
  rollout.fail_node(2);
  rollout.node(3).skipped = true;
  rollout.node(4).reason = fleet::Reason::wave_not_open;
  Progress progress = measure_progress(rollout.view);
  EXPECT_EQ(progress.waves[0].nodes, 2);
  EXPECT_EQ(progress.waves[0].done, 1);
  EXPECT_EQ(progress.waves[0].failed, 1);
  EXPECT_EQ(progress.waves[0].pending, 0);
  EXPECT_EQ(progress.waves[1].nodes, 3);
  EXPECT_EQ(progress.waves[1].skipped, 1);
  EXPECT_EQ(progress.waves[1].pending, 2);
  EXPECT_EQ(progress.failed_in_open, 1);
  EXPECT_EQ(progress.by_reason.at(Reason::wave_not_open), 1);
  // A failure of another revision does not count for this one.
  rollout.node(2).old_failure = true;
  EXPECT_EQ(measure_progress(rollout.view).waves[0].pending, 1);
  EXPECT_EQ(measure_progress(rollout.view).failed_in_open, 0);
}

// Of a rollout to 580, or to 570 long ago: the second one's waves say nothing now.
TEST(Progress, ARecordOfAnotherRolloutPutsNoNodeIntoAWave) {
  TestRollout rollout(
      3, "  waves: [{name: one, nodes: {count: 1}}, {name: rest, nodes: {rest: true}}]\n");
  rollout.view.status.to = revision("new", "580");
  rollout.view.recorded[0] = RecordedWave{revision_id(revision("old", "570")), {"gpu-1"}};
  EXPECT_TRUE(waves_of(rollout.view).empty());
  rollout.view.recorded[0]->revision = revision_id(rollout.view.status.to);
  EXPECT_EQ(waves_of(rollout.view).at("gpu-1"), 0U);
  // During a rollback these are the waves that return.
  rollout.view.status.open_for = revision("old", "570");
  EXPECT_EQ(waves_of(rollout.view).at("gpu-1"), 0U);
}

TEST(Progress, NamesAFew) {
  EXPECT_EQ(upgrade_names({"gpu-10", "gpu-9"}), "gpu-9, gpu-10");
  EXPECT_EQ(upgrade_names({"a", "b", "c", "d", "e", "f", "g"}), "a, b, c, d, e and 2 more");
}

TEST(Gates, TheWorstDecides) {
  WaveSpec wave;
  wave.gates = {{"a", GateKind::built_in, false, nullptr},
                {"b", GateKind::built_in, false, nullptr}};
  struct Case {
    Outcome a;
    Outcome b;
    Outcome both;
  };
  for (const Case& each : {Case{Outcome::passed, Outcome::passed, Outcome::passed},
                           Case{Outcome::passed, Outcome::running, Outcome::running},
                           Case{Outcome::running, Outcome::inconclusive, Outcome::inconclusive},
                           Case{Outcome::failed, Outcome::running, Outcome::failed},
                           Case{Outcome::error, Outcome::failed, Outcome::failed}}) {
    GateSummary summary =
        summarize_gates(wave, {{"a", each.a, "", false}, {"b", each.b, "4 of 8", false}});
    EXPECT_EQ(summary.outcome, each.both);
    EXPECT_NE(summary.text.find("b: "), std::string::npos);
  }
  EXPECT_EQ(summarize_gates(wave, {}).missing, (std::vector<std::string>{"a", "b"}));
  wave.gates[1].dry_run = true;
  EXPECT_EQ(
      summarize_gates(wave, {{"a", Outcome::passed, "", false}, {"b", Outcome::failed, "", true}})
          .outcome,
      Outcome::passed);
  EXPECT_EQ(
      summarize_gates(wave, {{"a", Outcome::passed, "", false}, {"b", Outcome::running, "", true}})
          .outcome,
      Outcome::running)
      << "nobody would ever see what it says";
}

TEST(GateFailed, NamesTheFailedGatesFirst) {
  WaveSpec wave;
  for (const char* name : {"driver", "shown", "latency", "ecc", "training"}) {
    GateSpec gate;
    gate.name = name;
    gate.dry_run = gate.name == "shown";
    wave.gates.push_back(gate);
  }
  EXPECT_EQ(summarize_gates(wave, {{"driver", Outcome::passed, "", false},
                                   {"shown", Outcome::failed, "", true},
                                   {"latency", Outcome::running, "", false},
                                   {"ecc", Outcome::inconclusive, "", false},
                                   {"training", Outcome::failed, "38 GB/s", false}})
                .text,
            "training: Failed, 38 GB/s; ecc: Inconclusive; latency: Running; driver: Passed; "
            "shown (dry run): Failed");
}

TEST(Command, ComesBackAsItWasWritten) {
  Command command{"promote", "canary", "alice@host", Time::from_unix(1'800'000'000), ""};
  auto read = Command::parse(print_json(command.to_json()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->verb, "promote");
  EXPECT_EQ(read->wave, "canary");
  EXPECT_EQ(read->by, "alice@host");
  EXPECT_EQ(read->at, command.at);
  EXPECT_FALSE(Command::parse("promote"));
  // Groups are what admission has verified, and never what the command says of itself.
  EXPECT_TRUE(Command::parse(R"({"verb":"promote","groups":["sre"]})")->groups.empty());
  EXPECT_FALSE(Command::parse("{}"));
}

TEST(RevisionId, TellsSetsApart) {
  DriverRevision one{{{"a/x", "1"}, {"a/y", "2"}}, "580"};
  EXPECT_EQ(revision_id(one), "a/x=1,a/y=2");
}

Json rollout_with(JsonObject annotations) {
  return JsonObject{{"metadata", JsonObject{{"annotations", std::move(annotations)}}}};
}

// The user's own statement in the command does not count beside the verified name.
TEST(Command, IsByTheUserWhomAdmissionHasVerified) {
  const std::string forged = R"({"verb":"promote","by":"the boss"})";
  auto read = Command::of(rollout_with({{command_annotation, forged},
                                        {command_by_annotation, "mallory"},
                                        {command_groups_annotation, "dev\nCN=sre,OU=gpu"}}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->by, "mallory");
  EXPECT_EQ(read->groups, (std::vector<std::string>{"dev", "CN=sre,OU=gpu"}));
  EXPECT_EQ(read->text, forged) << "which tells it from the next";
  // Of an earlier version of the command line.
  EXPECT_EQ(Command::of(rollout_with({{command_annotation, forged}}))->by, "the boss");
  EXPECT_FALSE(Command::of(rollout_with({{command_by_annotation, "mallory"}})));
  EXPECT_FALSE(Command::of(JsonObject{}));
}

}  // namespace
}  // namespace lockstep::rollout::rollout_progress_test
