#include "apiserver/verbs/deleting.h"

#include "apiserver/verbs/cluster_test_util.h"

namespace lockstep::apiserver::deleting_test {
namespace {

kube::Request remove_pod(const std::string& name, std::string_view options = "null") {
  return kube::remove(resource::pods, {"default", name}, from_text(options));
}

TEST(Deleting, APodThatRunsSomewhereGetsItsGracePeriod) {
  TestCluster cluster;
  cluster.add_pod("p");
  Json pod = cluster.ok(remove_pod("p"));
  EXPECT_EQ(as_integer(find(pod, "metadata", "deletionGracePeriodSeconds")), 30);
  ASSERT_TRUE(cluster.exists(resource::pods, {"default", "p"}));
  pod = cluster.ok(remove_pod("p", R"({"gracePeriodSeconds":5})"));
  EXPECT_EQ(as_integer(find(pod, "metadata", "deletionGracePeriodSeconds")), 5);
  pod = cluster.ok(remove_pod("p", R"({"gracePeriodSeconds":60})"));
  EXPECT_EQ(as_integer(find(pod, "metadata", "deletionGracePeriodSeconds")), 5)
      << "never longer again";
  cluster.ok(remove_pod("p", R"({"gracePeriodSeconds":0})"));
  EXPECT_FALSE(cluster.exists(resource::pods, {"default", "p"}));
}

TEST(Deleting, APodThatRunsNowhereGoesAtOnce) {
  TestCluster cluster;
  cluster.create(resource::pods, "default",
                 R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  cluster.ok(remove_pod("p"));
  EXPECT_FALSE(cluster.exists(resource::pods, {"default", "p"}));
}

TEST(Deleting, PreconditionsHold) {
  TestCluster cluster;
  cluster.add_pod("p");
  auto error = cluster.refused(remove_pod("p", R"({"preconditions":{"uid":"another"}})"));
  EXPECT_EQ(error.code, 409);
  EXPECT_NE(error.message.find("UID in precondition: another"), std::string::npos);
  EXPECT_EQ(cluster.refused(remove_pod("p", R"({"preconditions":{"resourceVersion":"1"}})")).code,
            409);
  EXPECT_FALSE(is_terminating(cluster.get(resource::pods, {"default", "p"})));
}

TEST(Deleting, BadOptionsAreRefused) {
  TestCluster cluster;
  cluster.add_pod("p");
  EXPECT_EQ(cluster.refused(remove_pod("p", R"({"propagationPolicy":"Sideways"})")).code, 422);
  EXPECT_EQ(cluster.refused(remove_pod("p", "[]")).code, 400);
  EXPECT_EQ(cluster.refused(remove_pod("q")).code, 404);
}

TEST(Deleting, DryRunDeletesNothing) {
  TestCluster cluster;
  cluster.create(resource::config_maps, "default", R"({"metadata":{"name":"c"}})");
  cluster.ok(kube::remove(resource::config_maps, {"default", "c"}).with("dryRun", "All"));
  EXPECT_TRUE(cluster.exists(resource::config_maps, {"default", "c"}));
}

TEST(Deleting, ACollectionGoesBySelector) {
  TestCluster cluster;
  for (auto name : {"a", "b", "c"}) {
    cluster.create(resource::config_maps, "default",
                   fmt::format(R"({{"metadata":{{"name":"{}","labels":{{"keep":"{}"}}}}}})", name,
                               name[0] == 'b'));
  }
  kube::Request request =
      kube::list(resource::config_maps, "default").with("labelSelector", "keep=false");
  request.verb = kube::Verb::remove_collection;
  ASSERT_TRUE(cluster.send(request));
  EXPECT_FALSE(cluster.exists(resource::config_maps, {"default", "a"}));
  EXPECT_TRUE(cluster.exists(resource::config_maps, {"default", "b"}));
  EXPECT_FALSE(cluster.exists(resource::config_maps, {"default", "c"}));
}

TEST(Deleting, TheSystemsNamespacesStay) {
  TestCluster cluster;
  EXPECT_EQ(cluster.refused(kube::remove(resource::namespaces, {"", "default"})).code, 403);
}

}  // namespace
}  // namespace lockstep::apiserver::deleting_test
