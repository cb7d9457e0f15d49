// Each expectation is wrong once, and must be seen.
#include "sim/scenario/expectations.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace lockstep::sim::expectations_test {
namespace {

// Two of three nodes come through; the third cannot pull its image. Claims are everywhere.
constexpr std::string_view with_failure = R"(
nodes: 3
to: "580.126.20"
policy: {autoUpgrade: true, maxParallelUpgrades: 2, maxUnavailable: "100%", maxFailures: 3}
workloads: {claimPods: 3}
machines: [{nodes: [3], imagePullFails: "580.126.20"}]
)";
// Nothing starts: a user paused it before.
constexpr std::string_view paused = R"(
nodes: 2
steps: [{pause: by test}, {after: 10s, setVersion: "580.126.20"}]
)";
// Nothing is asked for.
constexpr std::string_view idle = "nodes: 2\n";
// The DRA plugins are not restarted.
constexpr std::string_view unprotected = R"(
nodes: 2
to: "580.126.20"
rerollClients: false
policy: {autoUpgrade: true, maxParallelUpgrades: 0, maxUnavailable: "100%"}
workloads: {claimPods: 2}
)";

std::vector<std::string> disappointments(std::string_view story, const std::string& expect) {
  auto scenario =
      read_scenario("name: test\n" + std::string(story) + "expect: " + expect + "\n", "test.yaml");
  EXPECT_TRUE(scenario) << (scenario ? "" : scenario.error().text());
  if (!scenario) return {};
  return run_scenario(*scenario, {}).disappointments;
}

struct Case {
  std::string_view story;
  std::string right;
  std::string wrong;
  std::string said;  // part of what is said of it
};

TEST(Expectations, EachCanFail) {
  const Case cases[] = {
      {with_failure, "{done: rest}", "{done: all}", "done: expected 3, saw 2"},
      {with_failure, "{done: 2}", "{done: 3}", "done: expected 3, saw 2"},
      {paused, "{done: none}", "{done: rest, failed: 2}", "failed: expected 2, saw 0"},
      {with_failure, "{failed: 1}", "{done: none}", "done: expected 0, saw 2"},
      {with_failure, "{failedNodes: [3]}", "{failedNodes: [1]}",
       "failed nodes: expected gpu-1, saw gpu-3"},
      {with_failure, "{failedWith: DriverImageUnavailable}", "{failedWith: DriverCrashLoop}",
       "gpu-3 failed with DriverImageUnavailable, expected DriverCrashLoop"},
      {idle, "{failed: 0}", "{failedWith: DriverCrashLoop}",
       "no node failed, expected DriverCrashLoop"},
      {with_failure, "{failureSays: 'driver:580.126.20'}", "{failureSays: 'cosmic rays'}",
       "which does not say \"cosmic rays\""},
      {with_failure, "{cordoned: [3]}", "{cordoned: []}",
       "cordoned nodes: expected none, saw gpu-3"},
      {with_failure, "{versions: {'580.126.20': 2}}", "{versions: {'580.126.20': 3}}",
       "nodes with driver 580.126.20: expected 3, saw 2"},
      {paused, "{versions: {'580.105.08': 2}}", "{versions: {}}",
       "nodes with driver 580.105.08: expected 0, saw 2"},
      {with_failure, "{version: '580.126.20'}", "{version: '580.105.08'}",
       "gpu-1 is done and its driver is 580.126.20, expected 580.105.08"},
      {paused, "{waitingFor: Paused}", "{waitingFor: ParallelLimit}",
       "gpu-1 waits for Paused, expected ParallelLimit"},
      {with_failure, "{waitingNodes: []}", "{waitingFor: Paused}",
       "no node waits, expected Paused"},
      {paused, "{waitingNodes: all}", "{waitingNodes: [1]}",
       "waiting nodes: expected gpu-1, saw gpu-1 gpu-2"},
      {with_failure, "{entered: [upgrade-failed]}", "{entered: [drain-required]}",
       "no node was ever in drain-required"},
      {with_failure, "{neverEntered: [drain-required]}", "{neverEntered: [upgrade-failed]}",
       "1 nodes were in upgrade-failed, expected none"},
      {paused, "{evictions: 0}", "{evictions: 7}", "evictions: expected 7, saw 0"},
      {with_failure, "{evictionsAtLeast: 1}", "{evictionsAtLeast: 1000}",
       "evictions: expected at least 1000, saw"},
      {with_failure, "{driverRestarts: 2}", "{driverRestarts: 3}",
       "driver restarts: expected 3, saw 2"},
      {unprotected, "{claimsFailWith: version mismatch}", "{claimsFailWith: empty device edits}",
       "no claim fails at the end with \"empty device edits\""},
      {unprotected, "{claimsFailedWith: version mismatch}",
       "{claimsFailedWith: empty device edits}",
       "no claim ever failed with \"empty device edits\" on a node that came back"},
      {with_failure, "{claimsFailOn: []}", "{claimsFailOn: [2]}",
       "nodes where claims fail: expected gpu-2, saw none"},
      {idle, "{unchanged: true}", "{claimsHealthy: true}",
       "no claim was ever prepared: nothing was shown"},
      {paused, "{}", "{workRuns: true}", "there is no work: nothing was shown"},
      {with_failure, "{makespanAtMost: 10}", "{makespanAtMost: 0.1}", "more than 0.1 x the ideal"},
      {with_failure, "{writesPerNodeAtMost: 20}", "{writesPerNodeAtMost: 2}",
       "writes per node, more than 2"},
  };
  for (const Case& test : cases) {
    auto right = disappointments(test.story, test.right);
    EXPECT_TRUE(right.empty()) << test.right << ": " << join(right, "; ");
    auto wrong = join(disappointments(test.story, test.wrong), "; ");
    EXPECT_NE(wrong.find(test.said), std::string::npos)
        << test.wrong << " should say \"" << test.said << "\" and says \"" << wrong << "\"";
  }
}

TEST(Expectations, HealthOfClaimsIsAboutNodesThatCameBack) {
  EXPECT_TRUE(disappointments(with_failure, "{claimsHealthy: true, claimsHealed: true}").empty());
  auto sick = join(disappointments(unprotected, "{claimsHealthy: true}"), "; ");
  EXPECT_NE(sick.find("could not prepare a claim after it came back: "), std::string::npos) << sick;
  EXPECT_NE(sick.find("Driver/library version mismatch"), std::string::npos) << sick;
  auto not_healed = join(disappointments(unprotected, "{claimsHealed: true}"), "; ");
  EXPECT_NE(not_healed.find("still cannot prepare a claim: "), std::string::npos) << not_healed;
}

TEST(Expectations, WorkThatDoesNotRunIsSeen) {
  EXPECT_TRUE(disappointments(with_failure, "{workRuns: true}").empty());
  auto stuck = join(disappointments(unprotected, "{workRuns: true}"), "; ");
  EXPECT_NE(stuck.find("is Pending, expected it to run"), std::string::npos) << stuck;
}

TEST(Expectations, WritesAreSeen) {
  auto changed = join(disappointments(with_failure, "{unchanged: true}"), "; ");
  EXPECT_TRUE(changed.starts_with("writes: expected 0, saw ")) << changed;
}

}  // namespace
}  // namespace lockstep::sim::expectations_test
