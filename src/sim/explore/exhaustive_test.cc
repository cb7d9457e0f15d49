#include "sim/explore/exhaustive.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace lockstep::sim::exhaustive_test {
namespace {

RunSummary calm_run() {
  RunSummary calm;
  calm.writes = 3;
  calm.sightings = {{"nodes", 2}, {"pods", 1}};
  calm.rested = true;
  return calm;
}

ExhaustiveOptions only(bool ExhaustiveOptions::* what) {
  ExhaustiveOptions options;
  options.crashes = options.absences = options.freezes = options.stale_starts = false;
  options.*what = true;
  return options;
}

std::string all_flags(const ExhaustiveOptions& options) {
  std::vector<std::string> flags;
  for (const auto& each : every_disturbance(calm_run(), options)) flags.push_back(flags_of(each));
  return join(flags, ", ");
}

TEST(Exhaustive, DisturbsAfterEveryWriteAndAtEveryEvent) {
  EXPECT_EQ(all_flags(only(&ExhaustiveOptions::crashes)),
            "--crash-after 1, --crash-after 2, --crash-after 3");
  EXPECT_EQ(all_flags(only(&ExhaustiveOptions::absences)),
            "--crash-after 1+420s, --crash-after 2+420s, --crash-after 3+420s");
  EXPECT_EQ(all_flags(only(&ExhaustiveOptions::freezes)),
            "--freeze nodes:1+120s, --freeze nodes:2+120s, --freeze pods:1+120s");
  EXPECT_EQ(all_flags(only(&ExhaustiveOptions::stale_starts)),
            "--freeze nodes:1+120s!, --freeze nodes:2+120s!, --freeze pods:1+120s!");
  EXPECT_EQ(all_flags(only(&ExhaustiveOptions::pairs)),
            "--crash-after 1 --crash-after 2, --crash-after 1 --crash-after 3, "
            "--crash-after 2 --crash-after 3");
}

TEST(Exhaustive, WhatReproducesAFindingIsReadAgain) {
  for (const char* text : {"1", "12+420s"}) {
    auto crash = read_crash(text);
    ASSERT_TRUE(crash) << text;
    EXPECT_EQ(flags_of({{*crash}, {}}), "--crash-after " + std::string(text));
  }
  for (const char* text : {"pods:7+120s", "daemonsets.apps:1+5s!"}) {
    auto freeze = read_freeze(text);
    ASSERT_TRUE(freeze) << text;
    EXPECT_EQ(flags_of({{}, {*freeze}}), "--freeze " + std::string(text));
  }
  EXPECT_EQ(read_freeze("pods:7")->length, minutes(2));
  for (const char* text : {"", "0", "x", "3+", "3+4", "+3s"})
    EXPECT_FALSE(read_crash(text)) << text;
  for (const char* text : {"", "pods", ":3", "pods:0", "pods:x!"}) {
    EXPECT_FALSE(read_freeze(text)) << text;
  }
}

TEST(Exhaustive, ARunMustEndAsTheCalmOneDid) {
  RunSummary calm = calm_run();
  calm.end.things["node gpu-1"]["state"] = "upgrade-done";
  EXPECT_TRUE(compare_with_calm(calm, calm).empty());

  RunSummary busy = calm;
  busy.disappointments.emplace_back("2 writes after it had come to rest");
  EXPECT_EQ(join(compare_with_calm(busy, calm), "; "), "2 writes after it had come to rest");
  RunSummary guilty = calm;
  guilty.violations.emplace_back("at 1s: something");
  EXPECT_EQ(join(compare_with_calm(guilty, calm), "; "), "at 1s: something");
  RunSummary different = calm;
  different.end.things["node gpu-1"]["state"] = "upgrade-failed";
  EXPECT_EQ(join(compare_with_calm(different, calm), "; "),
            "node gpu-1: state is upgrade-failed, and was upgrade-done in the other run");
}

Scenario one_node() {
  auto read = read_scenario(R"(
name: one
nodes: 1
to: "580.126.20"
policy: {autoUpgrade: true, maxUnavailable: 1}
expect: {done: all, cordoned: [], version: "580.126.20"}
)",
                            "one.yaml");
  EXPECT_TRUE(read);
  return read ? *read : Scenario();
}

TEST(Exhaustive, TriesEveryPlaceOfAScenario) {
  ExhaustiveOptions options;
  options.nodes = 1;
  options.freezes = options.stale_starts = options.absences = false;
  ExhaustiveReport report = explore_all(one_node(), options);
  EXPECT_EQ(report.scenario, "one");
  EXPECT_GE(report.writes, 8u);
  EXPECT_EQ(report.runs, 1 + report.writes);
  for (const auto& finding : report.findings) {
    ADD_FAILURE() << flags_of(finding.disturbances) << ": " << join(finding.wrong, "; ");
  }
}

TEST(Exhaustive, APlaceThatIsNotThereIsRefusedWithThoseThatAre) {
  const ExhaustiveOptions options{.nodes = 1};
  auto last = explore_one(one_node(), options, {{Crash{1, {}}}, {}});
  ASSERT_TRUE(last) << last.error().text();
  EXPECT_EQ(last->runs, 2u);
  EXPECT_TRUE(explore_one(one_node(), options, {{Crash{last->writes, {}}}, {}}));
  auto late = explore_one(one_node(), options, {{Crash{last->writes + 1, {}}}, {}});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().text(), "--crash-after: there is no write " +
                                     std::to_string(last->writes + 1) + ": the controller makes " +
                                     std::to_string(last->writes) + " in this scenario");
  for (const Freeze& freeze :
       {Freeze{"podz", 1, minutes(2), false}, Freeze{"pods", 1'000'000, minutes(2), false}}) {
    auto refused = explore_one(one_node(), options, {{}, {freeze}});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text().find("--freeze: the controller sees no event " +
                                          freeze.resource + ":"),
              std::string::npos)
        << refused.error().text();
    EXPECT_NE(refused.error().text().find(", pods:"), std::string::npos) << refused.error().text();
  }
}

TEST(Exhaustive, AScenarioThatFailsWithoutAnyTroubleIsAFinding) {
  Scenario wrong = one_node();
  wrong.expect.version = "1.2.3";
  ExhaustiveReport report = explore_all(wrong, {.nodes = 1});
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].disturbances, Disturbances());
  EXPECT_EQ(report.runs, 1u);
}

}  // namespace
}  // namespace lockstep::sim::exhaustive_test
