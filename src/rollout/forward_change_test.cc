#include <gtest/gtest.h>

#include "rollout/forward_test_util.h"

namespace lockstep::rollout::forward_change_test {
namespace {

constexpr const char* canary_and_rest = R"(
waves:
  - {name: canary, nodes: {count: 1}}
  - {name: rest, nodes: {rest: true}})";

TEST(PlanOfAnAssumedChange, MovesEveryNodeAndRecordsFirstWhatRunsNow) {
  ForwardFleetTest fleet(3, canary_and_rest);
  fleet.set_newest("old");
  fleet.rollout().view.status = {};
  EXPECT_TRUE(fleet.plan().nodes.empty());
  assume_change(fleet.snapshot);
  Plan plan = fleet.plan();
  EXPECT_EQ(plan.nodes.size(), 3u);
  EXPECT_TRUE(plan.rollouts[0].refused.empty());
  EXPECT_EQ(plan.rollouts[0].end_phase, Phase::complete);
  EXPECT_EQ(plan.rollouts[0].to, "a new version");
}

}  // namespace
}  // namespace lockstep::rollout::forward_change_test
