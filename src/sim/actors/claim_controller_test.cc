#include "sim/actors/claim_controller.h"

#include <gtest/gtest.h>

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::claim_controller_test {
namespace {

std::vector<ResourceClaim> claims_in(Cluster& cluster) {
  DecodeContext context;
  std::vector<ResourceClaim> claims;
  for (const Document& document : cluster.list(resource::resource_claims))
    claims.push_back(*decode_object<ResourceClaim>(*document, context));
  return claims;
}

TEST(ClaimControllerTest, EveryPodGetsAClaimOfItsOwnAndTakesItAlong) {
  ClusterOptions options = fleet_of(1);
  options.simulated.fleet.workloads.claim_pods = 2;
  Cluster cluster(options);
  ASSERT_TRUE(cluster.start());
  cluster.loop.run_for(minutes(5));
  auto pods = pods_in(cluster, "ml-training");
  ASSERT_EQ(pods.size(), 2u);
  auto claims = claims_in(cluster);
  ASSERT_EQ(claims.size(), 2u);
  for (const Pod& pod : pods) {
    EXPECT_TRUE(pod.ready);
    PodClaims names = claims_of(pod);
    ASSERT_EQ(names.names.size(), 1u);
    EXPECT_EQ(names.unresolved, 0);
    bool reserved = std::any_of(claims.begin(), claims.end(), [&](const ResourceClaim& claim) {
      return claim.meta.name == names.names[0] && claim.is_reserved_for(pod.meta.uid);
    });
    EXPECT_TRUE(reserved);
  }
  EXPECT_NE(claims[0].devices.at(0).device, claims[1].devices.at(0).device);
  ASSERT_TRUE(cluster.call(merge_patch(resource::deployments, {"ml-training", "dra-inference"},
                                       JsonObject{{"spec", JsonObject{{"replicas", 0}}}})));
  cluster.loop.run_for(minutes(1));
  EXPECT_TRUE(pods_in(cluster, "ml-training").empty());
  EXPECT_TRUE(claims_in(cluster).empty());
}

TEST(ClaimControllerTest, ASharedClaimIsTakenBackFromAPodThatIsGone) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  JsonObject request{{"name", "gpu"},
                     {"exactly", JsonObject{{"deviceClassName", "gpu.nvidia.com"}}}};
  ASSERT_TRUE(cluster.call(kube::create(
      resource::resource_claims, "ml-training",
      JsonObject{
          {"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceClaim"},
          {"metadata", JsonObject{{"name", "shared"}}},
          {"spec", JsonObject{{"devices", JsonObject{{"requests", JsonArray{request}}}}}}})));
  JsonObject container{{"name", "c"}, {"image", "i"}};
  ASSERT_TRUE(cluster.call(kube::create(
      resource::pods, "ml-training",
      JsonObject{{"apiVersion", "v1"},
                 {"kind", "Pod"},
                 {"metadata", JsonObject{{"name", "user"}}},
                 {"spec", JsonObject{{"containers", JsonArray{container}},
                                     {"resourceClaims",
                                      JsonArray{JsonObject{{"name", "gpu"},
                                                           {"resourceClaimName", "shared"}}}}}}})));
  cluster.loop.run_for(minutes(1));
  auto claims = claims_in(cluster);
  ASSERT_EQ(claims.size(), 1u);
  EXPECT_TRUE(claims[0].allocated);
  EXPECT_EQ(claims[0].reserved_for.size(), 1u);
  ASSERT_TRUE(cluster.call(kube::remove(resource::pods, {"ml-training", "user"})));
  cluster.loop.run_for(minutes(1));
  claims = claims_in(cluster);
  ASSERT_EQ(claims.size(), 1u);
  EXPECT_FALSE(claims[0].allocated);
  EXPECT_TRUE(claims[0].reserved_for.empty());
}

}  // namespace
}  // namespace lockstep::sim::claim_controller_test
