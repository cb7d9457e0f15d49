#include "sim/explore/shrink.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace lockstep::sim::shrink_test {
namespace {

Case big_case() {
  auto read = read_scenario(R"(
name: big
nodes: 40
controllers: 2
controllerFaults: 0.5
policy: {autoUpgrade: true, maxParallelUpgrades: 4, maxUnavailable: "25%"}
workloads: {deploymentReplicas: 10, minAvailable: 3, claimPods: "50%", barePod: true}
machines:
  - {nodes: [3], slowness: 2}
  - {nodes: [30], slowness: 3}
steps:
  - {at: 1m, nodes: [2], cordon: true}
  - {after: 5m, pause: "x"}
  - {after: 5m, resume: true}
  - {at: 1h, nodes: [39], skip: true}
  - {at: 2h, calm: true}
expect: {done: all}
)",
                            "big.yaml");
  EXPECT_TRUE(read) << (read ? "" : read.error().text());
  Case big;
  if (read) big.scenario = *read;
  big.options.disturbances.crashes = {{3, {}}, {9, {}}};
  big.options.disturbances.freezes = {{"pods", 3}};
  return big;
}

bool has_step(const Case& tried, const std::string& action) {
  const auto& steps = tried.scenario.steps;
  return std::any_of(steps.begin(), steps.end(),
                     [&](const Interference& step) { return step.action == action; });
}

TEST(Shrink, LeavesNothingOfACaseThatAlwaysFails) {
  Shrunk shrunk = shrink(big_case(), [](const Case&) { return true; });
  const Scenario& left = shrunk.smallest.scenario;
  EXPECT_EQ(shrunk.smallest.nodes(), 1);
  ASSERT_EQ(left.steps.size(), 1u) << "the end of the troubles stays";
  EXPECT_EQ(left.steps[0].action, "calm");
  EXPECT_TRUE(left.machines.empty());
  EXPECT_TRUE(left.shares.empty());
  EXPECT_FALSE(left.fleet.workloads.bare_pod);
  EXPECT_EQ(left.controllers, 1);
  EXPECT_EQ(left.controller_faults, 0);
  EXPECT_EQ(left.fleet.upgrade_policy, Json(JsonObject{{"autoUpgrade", true}}));
  EXPECT_EQ(shrunk.smallest.options.disturbances, Disturbances());
}

TEST(Shrink, KeepsWhatTheFailureNeeds) {
  auto fails = [](const Case& tried) {
    return tried.nodes() >= 7 && has_step(tried, "pause") &&
           tried.options.disturbances.crashes == std::vector<Crash>{{9, {}}} &&
           find(tried.scenario.fleet.upgrade_policy, "maxUnavailable") != nullptr;
  };
  auto needs_both = [&](const Case& tried) {
    Case same = tried;
    auto& crashes = same.options.disturbances.crashes;
    if (crashes.size() == 2) crashes.erase(crashes.begin());
    return fails(same);
  };
  Shrunk shrunk = shrink(big_case(), needs_both);
  EXPECT_TRUE(needs_both(shrunk.smallest));
  EXPECT_EQ(shrunk.smallest.nodes(), 7);
  ASSERT_EQ(shrunk.smallest.scenario.steps.size(), 2u);
  EXPECT_FALSE(shrunk.smallest.scenario.steps[0].after) << "there is no step before it any more";
  EXPECT_EQ(shrunk.smallest.options.disturbances.crashes.size(), 1u);
  EXPECT_EQ(shrunk.smallest.scenario.controllers, 1);
}

TEST(Shrink, EveryCaseThatIsTriedCanBeRun) {
  shrink(big_case(), [](const Case& tried) {
    EXPECT_TRUE(check_nodes(tried.scenario, 0)) << tried.nodes();
    return tried.nodes() > 2;
  });
}

TEST(Shrink, StopsAtTheLimit) {
  int tried = 0;
  Shrunk shrunk = shrink(
      big_case(),
      [&](const Case&) {
        ++tried;
        return true;
      },
      5);
  EXPECT_EQ(tried, 5);
  EXPECT_EQ(shrunk.tries, 5);
}

}  // namespace
}  // namespace lockstep::sim::shrink_test
