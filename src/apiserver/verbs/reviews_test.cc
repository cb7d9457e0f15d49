#include "apiserver/verbs/reviews.h"

#include "apiserver/verbs/cluster_test_util.h"

namespace lockstep::apiserver::reviews_test {
namespace {

TEST(Reviews, EverybodyMayDoEverythingAndIsTold) {
  TestCluster cluster;
  ResourceType access{"authorization.k8s.io", "v1", "SelfSubjectAccessReview",
                      "selfsubjectaccessreviews", false};
  Json answer = cluster.create(
      access, "", R"({"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}})");
  EXPECT_TRUE(as_bool(find(answer, "status", "allowed")));
  ResourceType who{"authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", false};
  EXPECT_EQ(text_at(cluster.create(who, "", "{}"), "status", "userInfo", "username"), "tester");
}

TEST(Reviews, TheyAreNotStored) {
  TestCluster cluster;
  ResourceType access{"authorization.k8s.io", "v1", "SelfSubjectAccessReview",
                      "selfsubjectaccessreviews", false};
  EXPECT_EQ(cluster.refused(kube::list(access)).code, 405);
  EXPECT_EQ(cluster.refused(kube::create(access, "", from_text("[]"))).code, 400);
}

}  // namespace
}  // namespace lockstep::apiserver::reviews_test
