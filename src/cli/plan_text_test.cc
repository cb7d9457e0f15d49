#include "cli/plan_text.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace lockstep::cli::plan_text_test {
namespace {

rollout::PlannedNode node(std::string name, std::optional<Duration> start) {
  rollout::PlannedNode planned;
  planned.name = std::move(name);
  planned.start = start;
  if (!start) return planned;
  planned.end = *start + minutes(5);
  planned.outcome = rollout::PlannedEnd::done;
  return planned;
}

TEST(PlanText, WithNothingToDoSaysHowToAssumeAChange) {
  EXPECT_NE(plan_text({}).find("--assume-change"), std::string::npos);
}

TEST(PlanText, NamesTheOrderWhatIsMovedAndWhatBlocks) {
  operate::PlanAnswer answer;
  answer.pace.node = minutes(5);
  answer.plan.nodes = {node("gpu-1", Duration::zero()), node("gpu-2", minutes(5))};
  answer.plan.nodes[0].moved = {"default/train"};
  answer.plan.nodes[1].outcome = rollout::PlannedEnd::failed;
  answer.plan.nodes[1].reason = {fleet::Reason::gpu_pods_remain, "a pod is left", ""};
  answer.plan.nodes[1].blocked = {"default/serve: budget serve allows no disruption"};
  answer.plan.most_at_once = 1;
  const std::string text = plan_text(answer);
  EXPECT_LT(text.find("gpu-1"), text.find("gpu-2"));
  EXPECT_NE(text.find("moves default/train"), std::string::npos) << text;
  EXPECT_NE(text.find("BLOCKED: default/serve"), std::string::npos) << text;
  EXPECT_NE(text.find("1 node upgraded, at most 1 at once; 1 node failing"), std::string::npos)
      << text;
}

// One line for all that wait for the same.
TEST(PlanText, NodesThatDoNotStartAreNamedTogetherWithTheReason) {
  operate::PlanAnswer answer;
  answer.plan.nodes = {node("gpu-1", std::nullopt), node("gpu-2", std::nullopt)};
  for (auto& each : answer.plan.nodes) {
    each.reason = {fleet::Reason::skipped, "a user skips it", "unskip it"};
  }
  const std::string text = plan_text(answer);
  EXPECT_NE(text.find("2 nodes do not start: gpu-1, gpu-2"), std::string::npos) << text;
  EXPECT_NE(text.find("Skipped: a user skips it"), std::string::npos) << text;
  EXPECT_NE(text.find("Next: unskip it"), std::string::npos) << text;
}

TEST(PlanText, FitsEightyColumnsButForNames) {
  operate::PlanAnswer answer;
  answer.plan.nodes = {node("gpu-1", Duration::zero())};
  answer.plan.refused = {
      {fleet::Reason::paused, std::string(40, 'x') + " " + std::string(40, 'y'), "resume"}};
  for (std::string_view line : split(plan_text(answer), '\n')) {
    EXPECT_LE(line.size(), 80U) << line;
  }
}

}  // namespace
}  // namespace lockstep::cli::plan_text_test
