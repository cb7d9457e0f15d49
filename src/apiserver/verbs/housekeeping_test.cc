#include "apiserver/verbs/housekeeping.h"

#include "apiserver/verbs/cluster_test_util.h"

namespace lockstep::apiserver::housekeeping_test {
namespace {

std::string add_owner(TestCluster& cluster, const std::string& name) {
  Json owner = cluster.create(resource::config_maps, "default",
                              fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name));
  return std::string(object_uid(owner));
}

void add_child(TestCluster& cluster, const std::string& name,
               const std::vector<std::string>& owners) {
  JsonArray references;
  for (const auto& uid : owners) {
    references.push_back(JsonObject{{"apiVersion", "v1"},
                                    {"kind", "ConfigMap"},
                                    {"name", "owner"},
                                    {"uid", uid},
                                    {"blockOwnerDeletion", true}});
  }
  cluster.ok(kube::create(
      resource::config_maps, "default",
      JsonObject{{"metadata", JsonObject{{"name", name}, {"ownerReferences", references}}}}));
}

void remove_with(TestCluster& cluster, const std::string& name, std::string_view policy) {
  cluster.ok(kube::remove(resource::config_maps, {"default", name},
                          JsonObject{{"propagationPolicy", policy}}));
}

bool exists(TestCluster& cluster, const std::string& name) {
  return cluster.exists(resource::config_maps, {"default", name});
}

TEST(Housekeeping, DependentsFollowTheirOwnerInTheBackground) {
  TestCluster cluster;
  auto uid = add_owner(cluster, "owner");
  add_child(cluster, "child", {uid});
  remove_with(cluster, "owner", "Background");
  EXPECT_FALSE(exists(cluster, "owner"));
  EXPECT_TRUE(exists(cluster, "child"));
  cluster.settle();
  EXPECT_FALSE(exists(cluster, "child"));
}

TEST(Housekeeping, ADependentWithAnotherOwnerStaysAndForgetsTheOneThatWent) {
  TestCluster cluster;
  auto first = add_owner(cluster, "first");
  auto second = add_owner(cluster, "second");
  add_child(cluster, "child", {first, second});
  remove_with(cluster, "first", "Background");
  cluster.settle();
  ASSERT_TRUE(exists(cluster, "child"));
  Json child = cluster.get(resource::config_maps, {"default", "child"});
  EXPECT_EQ(find(child, "metadata", "ownerReferences")->as_array().size(), 1U);
}

TEST(Housekeeping, InTheForegroundTheOwnerGoesLast) {
  TestCluster cluster;
  auto uid = add_owner(cluster, "owner");
  add_child(cluster, "child", {uid});
  cluster.ok(kube::patch(resource::config_maps, {"default", "child"}, kube::PatchType::merge,
                         from_text(R"({"metadata":{"finalizers":["a.b/hold"]}})")));
  remove_with(cluster, "owner", "Foreground");
  cluster.settle();
  EXPECT_TRUE(exists(cluster, "owner"));
  EXPECT_TRUE(is_terminating(cluster.get(resource::config_maps, {"default", "child"})));
  // The child itself was deleted in the foreground too; only the foreign finalizer holds it.
  cluster.ok(kube::patch(resource::config_maps, {"default", "child"}, kube::PatchType::merge,
                         from_text(R"({"metadata":{"finalizers":[]}})")));
  cluster.settle();
  EXPECT_FALSE(exists(cluster, "child"));
  EXPECT_FALSE(exists(cluster, "owner"));
}

TEST(Housekeeping, OrphansStayWithoutAnOwner) {
  TestCluster cluster;
  auto uid = add_owner(cluster, "owner");
  add_child(cluster, "child", {uid});
  remove_with(cluster, "owner", "Orphan");
  cluster.settle();
  EXPECT_FALSE(exists(cluster, "owner"));
  ASSERT_TRUE(exists(cluster, "child"));
  EXPECT_EQ(
      find(cluster.get(resource::config_maps, {"default", "child"}), "metadata", "ownerReferences"),
      nullptr);
}

TEST(Housekeeping, AnObjectWhoseOwnerNeverExistedIsCollected) {
  TestCluster cluster;
  add_child(cluster, "child", {"no-such-uid"});
  cluster.settle();
  EXPECT_FALSE(exists(cluster, "child"));
}

TEST(Housekeeping, ANamespaceEndsWithItsContent) {
  TestCluster cluster;
  cluster.create(resource::namespaces, "", R"({"metadata":{"name":"team"}})");
  cluster.create(resource::config_maps, "team",
                 R"({"metadata":{"name":"c","finalizers":["a.b/hold"]}})");
  cluster.ok(kube::remove(resource::namespaces, {"", "team"}));
  cluster.settle();
  EXPECT_EQ(text_at(cluster.get(resource::namespaces, {"", "team"}), "status", "phase"),
            "Terminating");
  EXPECT_EQ(cluster
                .refused(kube::create(resource::config_maps, "team",
                                      from_text(R"({"metadata":{"name":"d"}})")))
                .code,
            403);
  cluster.ok(kube::patch(resource::config_maps, {"team", "c"}, kube::PatchType::merge,
                         from_text(R"({"metadata":{"finalizers":[]}})")));
  cluster.settle();
  EXPECT_FALSE(cluster.exists(resource::namespaces, {"", "team"}));
}

TEST(Housekeeping, ANamespacesPodsEndBeforeTheRest) {
  TestCluster cluster;
  cluster.create(resource::namespaces, "", R"({"metadata":{"name":"team"}})");
  cluster.create(resource::config_maps, "team", R"({"metadata":{"name":"c"}})");
  cluster.create(resource::pods, "team", R"({"metadata":{"name":"p","finalizers":["a.b/hold"]},
      "spec":{"containers":[{"name":"c","image":"i"}]}})");
  cluster.create(resource::pods, "team", R"({"metadata":{"name":"q"},
      "spec":{"containers":[{"name":"c","image":"i"}]}})");
  cluster.ok(kube::remove(resource::namespaces, {"", "team"}));
  cluster.settle();
  EXPECT_FALSE(cluster.exists(resource::pods, {"team", "q"}));
  EXPECT_FALSE(
      text_at(cluster.get(resource::pods, {"team", "p"}), "metadata", "deletionTimestamp").empty());
  EXPECT_TRUE(cluster.exists(resource::config_maps, {"team", "c"})) << "the pod may still use it";
  cluster.ok(kube::patch(resource::pods, {"team", "p"}, kube::PatchType::merge,
                         from_text(R"({"metadata":{"finalizers":[]}})")));
  cluster.settle();
  EXPECT_FALSE(cluster.exists(resource::config_maps, {"team", "c"}));
  EXPECT_FALSE(cluster.exists(resource::namespaces, {"", "team"}));
}

TEST(Housekeeping, PodsAreReapedAtTheEndOfTheirGracePeriodWhereAskedFor) {
  Options options;
  options.reap_pods = true;
  TestCluster cluster(options);
  cluster.add_pod("p");
  cluster.ok(
      kube::remove(resource::pods, {"default", "p"}, from_text(R"({"gracePeriodSeconds":10})")));
  cluster.loop.run_for(seconds(9));
  EXPECT_TRUE(cluster.exists(resource::pods, {"default", "p"}));
  cluster.loop.run_for(seconds(2));
  EXPECT_FALSE(cluster.exists(resource::pods, {"default", "p"}));
}

}  // namespace
}  // namespace lockstep::apiserver::housekeeping_test
