#include "sim/actors/view.h"

#include <gtest/gtest.h>

#include "apiserver/verbs/cluster_test_util.h"
#include "apiserver/verbs/in_process_api.h"

namespace lockstep::sim::view_test {
namespace {

TEST(ViewTest, IndexesPodsByNodeAndOwner) {
  apiserver::TestCluster cluster;
  apiserver::InProcessApi api{cluster.backend, {"tester", {}, "test"}};
  SeededRandom random{5};
  SilentLog log;
  View view(Parts{api, cluster.loop, random, log});
  view.pods();
  EXPECT_FALSE(view.synced());
  cluster.add_pod("a", "{}", "gpu-1");
  view.start();
  cluster.loop.run_for(seconds(1));
  EXPECT_TRUE(view.synced());
  cluster.add_pod("b", "{}", "gpu-1", false);
  cluster.add_pod("c", "{}", "gpu-2");
  cluster.loop.run_for(seconds(1));
  EXPECT_EQ(view.pods().count("node", "gpu-1"), 2u);
  EXPECT_TRUE(is_ready(*view.pods().find({"default", "a"})));
  EXPECT_FALSE(is_ready(*view.pods().find({"default", "b"})));
  EXPECT_EQ(phase_of(*view.pods().find({"default", "b"})), PodPhase::running);
  // One that is asked for later fills too.
  EXPECT_EQ(view.of(resource::namespaces).size(), 0u);
  cluster.loop.run_for(seconds(1));
  EXPECT_GT(view.of(resource::namespaces).size(), 0u);
}

TEST(ViewTest, CountsGpusByTheirNames) {
  auto spec = [](std::string_view text) { return apiserver::from_text(text); };
  EXPECT_EQ(gpus_of(spec(R"({"containers":[{"resources":{"limits":{"nvidia.com/gpu":"8"}}},
                             {"resources":{"limits":{"nvidia.com/mig-1g.5gb":2,"cpu":"4"}}}]})")),
            10);
  EXPECT_EQ(gpus_of(spec(R"({"containers":[{"name":"a"}]})")), 0);
  EXPECT_TRUE(has_claims(spec(R"({"resourceClaims":[{"name":"gpu"}]})")));
  EXPECT_FALSE(has_claims(spec(R"({"resourceClaims":[]})")));
  Json extended = spec(R"({"containers":[{"resources":{"limits":{"example.com/gpu":"1"}}}]})");
  EXPECT_TRUE(has_claims(extended));
  EXPECT_EQ(claims_wanted_by(extended), 1U);
}

TEST(ViewTest, FindsTheClaimsOfAPod) {
  Json pod = apiserver::from_text(R"({
    "spec":{"resourceClaims":[{"name":"a","resourceClaimName":"shared"},
                              {"name":"b","resourceClaimTemplateName":"t"}]},
    "status":{"resourceClaimStatuses":[{"name":"b","resourceClaimName":"made"}],
              "extendedResourceClaimStatus":{"resourceClaimName":"extended"}}})");
  EXPECT_EQ(claims_named_by(pod), (std::vector<std::string>{"shared", "made", "extended"}));
}

TEST(ViewTest, ANodeSelectorAsksForAllOfItsLabels) {
  StringMap labels{{"a", "1"}, {"b", "2"}};
  Json both = JsonObject{{"a", "1"}, {"b", "2"}};
  Json other = JsonObject{{"a", "1"}, {"c", "2"}};
  EXPECT_TRUE(matches_node_selector(labels, &both));
  EXPECT_FALSE(matches_node_selector(labels, &other));
  EXPECT_TRUE(matches_node_selector(labels, nullptr));
}

}  // namespace
}  // namespace lockstep::sim::view_test
