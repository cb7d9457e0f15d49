#include "cli/rollout_tree.h"

#include <gtest/gtest.h>

#include "cli/rollout_text.h"

namespace lockstep::cli::rollout_tree_test {
namespace {

const Terminal plain;

Json rollout_of(std::string_view phase) {
  auto json = parse_json(fmt::format(
      R"({{"metadata":{{"name":"weekly"}},
          "spec":{{"driver":{{"kind":"ClusterPolicy","name":"cluster-policy"}},
            "waves":[{{"name":"canary","nodes":{{"count":2}},"bake":{{"duration":"2h"}}}},
                     {{"name":"rest","nodes":{{"rest":true}},"approval":"required"}}]}},
          "status":{{"phase":"{}","openWaves":1,"reason":"{}","message":"as it is",
            "waves":[{{"name":"canary","nodes":2,"done":1,"opened":"2026-11-19T00:00:00Z",
              "bakeBegan":"2026-11-19T01:00:00Z",
              "gates":[{{"name":"training","outcome":"Passed","text":"loss 0.1"}}]}}]}}}})",
      phase, phase));
  EXPECT_TRUE(json) << (json ? "" : json.error().text());
  return json ? *json : Json();
}

std::string tree_of(std::string_view phase, operate::WaveBakes bakes = {}) {
  const Json rollout = rollout_of(phase);
  return rollout_tree(
      operate::report_rollout("weekly", rollout::read_rollout_spec(rollout),
                              rollout::read_rollout_status(rollout), std::move(bakes)),
      Time::from_unix(1'795'000'000), plain);
}

TEST(RolloutTree, HasEveryWaveAlsoThoseThatAreNotOpen) {
  const std::string tree = tree_of("Upgrading");
  EXPECT_EQ(tree.find("rollout weekly  Upgrading"), 0U) << tree;
  EXPECT_NE(tree.find("1/2"), std::string::npos) << tree;
  EXPECT_NE(tree.find("gate training: Passed loss 0.1"), std::string::npos) << tree;
  EXPECT_NE(tree.find("`- rest"), std::string::npos) << tree;
  EXPECT_NE(tree.find("lockstep rollout promote weekly"), std::string::npos) << tree;
  EXPECT_EQ(tree.find("as it is"), std::string::npos) << "its waves count the nodes";
}

TEST(RolloutTree, ShowsABakeInNumbersAgainstItsLimitsWhileItGoesOn) {
  rollout::BakeVerdict seen;
  seen.outcome = rollout::BakeOutcome::going_on;
  seen.passed = hours(1);
  seen.gpu_hours = 3;
  seen.min_gpu_hours = 12;
  seen.evidence = 2.5;
  seen.limit = 20;
  const std::string tree = tree_of("Baking", {seen});
  EXPECT_NE(tree.find("exposure"), std::string::npos) << tree;
  EXPECT_NE(tree.find("3.0 of 12.0 GPU-hours"), std::string::npos) << tree;
  EXPECT_NE(tree.find("2.5, fails at 20"), std::string::npos) << tree;
  EXPECT_NE(tree_of("Promoting", {seen}).find("bake ended after 60m"), std::string::npos);
}

TEST(RolloutText, SaysWhereItIsAndWhy) {
  const std::string text = rollout_text(rollout_of("Held"), Time::from_unix(1'795'000'000));
  EXPECT_EQ(text.find("weekly  Held"), 0U) << text;
  EXPECT_NE(text.find("Held: as it is"), std::string::npos) << text;
  EXPECT_NE(text.find("gate training: Passed loss 0.1"), std::string::npos) << text;
  EXPECT_EQ(text.find("rest"), std::string::npos) << "it has no status yet";
}

}  // namespace
}  // namespace lockstep::cli::rollout_tree_test
