#include "sim/scenario/expectations_reader.h"

#include <gtest/gtest.h>

#include "data/yaml.h"

namespace lockstep::sim::expectations_reader_test {
namespace {

std::string complaint(const std::string& text) {
  auto json = parse_yaml(text);
  EXPECT_TRUE(json);
  Reading reading("expect");
  reading.any(*json, [](StrictReader& expect) { (void)read_expectations(expect); });
  return reading.mistakes().empty() ? "" : reading.texts().front();
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
  Reading reading;
  Expectations expect;
  reading.any(*json, [&](StrictReader& reader) { expect = read_expectations(reader); });
  ASSERT_TRUE(reading.mistakes().empty()) << reading.texts().front();
  EXPECT_EQ(expect.done_count, 3);
  EXPECT_EQ(expect.failed, 1);
  EXPECT_EQ(expect.failed_nodes->numbers, std::vector{1});
  EXPECT_EQ(expect.failed_with, fleet::Reason::driver_crash_loop);
  EXPECT_EQ(expect.failure_says, "B");
  EXPECT_EQ(expect.cordoned->every, 1);
  EXPECT_EQ(expect.version, "1");
  EXPECT_EQ(expect.waiting_for, fleet::Reason::paused);
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
  EXPECT_EQ(complaint("{}"), "");
  Expectations expect = read_again(JsonObject{}, read_expectations);
  EXPECT_FALSE(expect.done || expect.done_count || expect.failed || expect.cordoned);
}

TEST(ExpectationsReader, MistakesAreToldWithTheirPlace) {
  struct {
    std::string text;
    std::string expected;
  } const cases[] = {
      {"[]", "expect: must be a map, not a list"},
      {"{done: most}", "expect.done: must be all, none, rest or a whole number, not \"most\""},
      {"{done: -1}", "expect.done: must be all, none, rest or a whole number, not -1"},
      {"{failed: some}", "expect.failed: must be a whole number, 0 or more, not \"some\""},
      {"{failedNodes: 3}",
       "expect.failedNodes: must be a list of numbers, all, {first: n} or {every: n}, not 3"},
      {"{failedNodes: [a]}",
       "expect.failedNodes[0]: must be a whole number from 1 to 1000000, not \"a\""},
      {"{cordoned: {frist: 3}}", "expect.cordoned.frist: unknown field; did you mean \"first\"?"},
      {"{entered: drain-required}", "expect.entered: must be a list, not a string"},
      {"{entered: [drain-requird]}",
       "expect.entered[0]: unknown value \"drain-requird\"; did you mean \"drain-required\"?"},
      {"{claimsHealthy: false}", "expect.claimsHealthy: must be true; remove it to expect nothing"},
      {"{unchanged: 1}", "expect.unchanged: must be true or false, not a number"},
      {"{evictionAtLeast: 1}",
       "expect.evictionAtLeast: unknown field; did you mean \"evictionsAtLeast\"?"},
      {"{makespanAtMost: fast}",
       "expect.makespanAtMost: must be a number, 0 or more, not \"fast\""},
      {"{makespanAtMost: -1}", "expect.makespanAtMost: must be a number, 0 or more, not -1"},
      {"{failedWith: DriverCrashLop}",
       "expect.failedWith: unknown value \"DriverCrashLop\"; did you mean \"DriverCrashLoop\"?"},
      {"{waitingFor: Nonsense}",
       "expect.waitingFor: unknown value \"Nonsense\"; expected one of: "},
      {"{rolloutReason: Nonsense}",
       "expect.rolloutReason: unknown value \"Nonsense\"; expected one of: "},
      {"{rolloutPhase: Rolledback}",
       "expect.rolloutPhase: unknown value \"Rolledback\"; did you mean \"RolledBack\"?"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_TRUE(complaint(text).starts_with(expected)) << text << "\n  said " << complaint(text);
  }
}

}  // namespace
}  // namespace lockstep::sim::expectations_reader_test
