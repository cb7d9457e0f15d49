#include "sim/expectations_reader.h"

#include <gtest/gtest.h>

#include "data/yaml.h"

namespace lockstep::sim::expectations_reader_test {
namespace {

std::string complaint(const std::string& text) {
  auto json = parse_yaml(text);
  EXPECT_TRUE(json);
  std::optional<Error> error;
  read_expectations(*json, "expect", error);
  return error ? error->text() : "";
}

TEST(ExpectationsReader, ReadsEveryKey) {
  auto json = parse_yaml(R"(
done: 3
failed: 1
failedNodes: [1]
failedWith: DriverCrashLoop
failureSays: B
cordoned: all
version: "1"
waitingFor: Paused
waitingNodes: {first: 2}
entered: [drain-required]
neverEntered: [upgrade-failed]
evictions: 4
evictionsAtLeast: 5
driverRestarts: 6
claimsFailWith: D
claimsFailOn: [2]
claimsFailedWith: E
claimsHealthy: true
claimsHealed: true
workRuns: true
unchanged: true
makespanAtMost: 1.03
writesPerNodeAtMost: 12
)");
  std::optional<Error> error;
  Expectations expect = read_expectations(*json, "expect", error);
  ASSERT_FALSE(error) << error->text();
  EXPECT_EQ(expect.done_count, 3);
  EXPECT_EQ(expect.failed, 1);
  EXPECT_EQ(expect.failed_nodes->numbers, std::vector{1});
  EXPECT_EQ(expect.failed_with, "DriverCrashLoop");
  EXPECT_EQ(expect.failure_says, "B");
  EXPECT_EQ(expect.cordoned->every, 1);
  EXPECT_EQ(expect.version, "1");
  EXPECT_EQ(expect.waiting_for, "Paused");
  EXPECT_EQ(expect.waiting_nodes->first, 2);
  EXPECT_EQ(expect.entered, std::vector{fleet::State::drain});
  EXPECT_EQ(expect.never_entered, std::vector{fleet::State::failed});
  EXPECT_EQ(expect.evictions, 4);
  EXPECT_EQ(expect.evictions_at_least, 5);
  EXPECT_EQ(expect.driver_restarts, 6);
  EXPECT_EQ(expect.claims_fail_with, "D");
  EXPECT_EQ(expect.claims_fail_on->numbers, std::vector{2});
  EXPECT_EQ(expect.claims_failed_with, "E");
  EXPECT_TRUE(expect.claims_healthy && expect.claims_healed && expect.work_runs);
  EXPECT_TRUE(expect.unchanged);
  EXPECT_EQ(expect.makespan_at_most, 1.03);
  EXPECT_EQ(expect.writes_per_node_at_most, 12);
}

TEST(ExpectationsReader, AsksNothingThatIsNotWritten) {
  std::optional<Error> error;
  Expectations expect = read_expectations(JsonObject{}, "expect", error);
  EXPECT_FALSE(error);
  EXPECT_FALSE(expect.done || expect.done_count || expect.failed || expect.cordoned);
}

TEST(ExpectationsReader, MistakesAreToldWithTheirPlace) {
  struct {
    std::string text;
    std::string expected;
  } const cases[] = {
      {"[]", "expect: must be a map"},
      {"{done: most}", "expect.done: must be all, none, rest or a whole number"},
      {"{done: -1}", "expect.done: must be all, none, rest or a whole number"},
      {"{failed: some}", "expect.failed: must be a whole number from 0 to 2147483647"},
      {"{failedNodes: 3}",
       "expect.failedNodes: must be a list of numbers, all, {first: n} or {every: n}"},
      {"{failedNodes: [a]}", "expect.failedNodes: must be numbers of nodes: 1 is the first"},
      {"{cordoned: {frist: 3}}", "expect.cordoned: has the unknown key frist; did you mean first?"},
      {"{entered: drain-required}", "expect.entered: must be a list of states"},
      {"{entered: [drain-requird]}",
       "expect.entered: drain-requird is no state of a node; did you mean drain-required?"},
      {"{claimsHealthy: false}", "expect.claimsHealthy: must be true, or left out"},
      {"{unchanged: 1}", "expect.unchanged: must be true or false"},
      {"{evictionAtLeast: 1}",
       "expect: has the unknown key evictionAtLeast; did you mean evictionsAtLeast?"},
      {"{makespanAtMost: fast}", "expect.makespanAtMost: must be a number"},
      {"{makespanAtMost: -1}", "expect.makespanAtMost: must be 0 or more"},
      {"{failedWith: DriverCrashLop}",
       "expect.failedWith: DriverCrashLop is no reason of docs/TROUBLESHOOTING.md; did you mean "
       "DriverCrashLoop?"},
      {"{waitingFor: Nonsense}",
       "expect.waitingFor: Nonsense is no reason of docs/TROUBLESHOOTING.md"},
      {"{rolloutReason: Nonsense}",
       "expect.rolloutReason: Nonsense is no reason of docs/TROUBLESHOOTING.md"},
      {"{rolloutPhase: Rolledback}",
       "expect.rolloutPhase: Rolledback is no phase of a rollout; did you mean RolledBack?"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(complaint(text), expected) << text;
}

}  // namespace
}  // namespace lockstep::sim::expectations_reader_test
