// Each sentence of a plan is wrong once, and must be seen.
#include "sim/scenario/plan_check.h"

#include <gtest/gtest.h>

#include "sim/scenario/scenario_run.h"

namespace lockstep::sim::plan_check_test {
namespace {

std::vector<std::string> disappointments(const std::string& story) {
  auto scenario = read_scenario("name: test\nexpect: {asPlanned: true}\n" + story, "test.yaml");
  EXPECT_TRUE(scenario) << (scenario ? "" : scenario.error().text());
  if (!scenario) return {};
  return run_scenario(*scenario, {}).disappointments;
}

bool says(const std::vector<std::string>& texts, const std::string& text) {
  for (const std::string& each : texts) {
    if (each.find("the plan: ") == 0 && each.find(text) != std::string::npos) return true;
  }
  return false;
}

const std::string waves = R"(
nodes: 4
to: "580.126.20"
policy: {autoUpgrade: true, maxParallelUpgrades: 1}
rollout:
  driver: {kind: ClusterPolicy, name: cluster-policy}
  onFailure: Hold
  waves:
    - {name: canary, nodes: {count: 1}}
    - {name: rest, nodes: {rest: true}}
)";

TEST(PlanCheck, AcceptsWhatWentAsPlanned) { EXPECT_TRUE(disappointments(waves).empty()); }

// A driver that does not come up is what no plan knows of.
TEST(PlanCheck, SeesANodeThatFailedAndAWaveThatDidNotOpen) {
  auto wrong = disappointments(waves + R"(machines: [{nodes: [1], imagePullFails: "580.126.20"}])");
  EXPECT_TRUE(says(wrong, "gpu-1 is failed (DriverImageUnavailable), and was planned as done"));
  EXPECT_TRUE(says(wrong, "gpu-2 did not start, and was planned to"));
  EXPECT_TRUE(says(wrong, "wave rest did not open, and was planned to"));
  EXPECT_TRUE(says(wrong, "the rollout is Held (NodesFailed), and was planned as Complete"));
}

TEST(PlanCheck, SeesThatItTookLonger) {
  auto late = disappointments(waves + R"(
steps:
  - {state: upgrade-done, setRollout: {paused: true}}
  - {after: 5h, setRollout: {paused: false}}
)");
  EXPECT_TRUE(says(late, "started after 5h"));
  EXPECT_TRUE(says(late, "and was planned after"));
}

TEST(PlanCheck, SeesAnotherOrder) {
  auto order = disappointments(waves + R"(
steps:
  - {state: upgrade-done, nodes: [2], skip: true}
  - {state: upgrade-done, reached: 2, nodes: [2], unskip: true}
)");
  EXPECT_TRUE(says(order, "gpu-3 started before gpu-2, and was planned after it"));
}

}  // namespace
}  // namespace lockstep::sim::plan_check_test
