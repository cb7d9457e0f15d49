#include "apiserver/verbs/disruption.h"

#include "apiserver/verbs/cluster_test_util.h"

namespace lockstep::apiserver::disruption_test {
namespace {

kube::Request evict(const std::string& pod, std::string_view options = "{}") {
  kube::Request request = kube::create(
      resource::pods, "default",
      from_text(fmt::format(
          R"({{"apiVersion":"policy/v1","kind":"Eviction","metadata":{{"name":"{}"}},"deleteOptions":{}}})",
          pod, options)));
  request.name = pod;
  request.subresource = "eviction";
  return request;
}

void add_budget(TestCluster& cluster, std::string_view rule, std::string_view name = "budget") {
  cluster.create(
      resource::pod_disruption_budgets, "default",
      fmt::format(
          R"({{"metadata":{{"name":"{}"}},"spec":{{"selector":{{"matchLabels":{{"app":"web"}}}},{}}}}})",
          name, rule));
  cluster.settle();
}

Json budget_of(TestCluster& cluster) {
  return cluster.get(resource::pod_disruption_budgets, {"default", "budget"});
}

int64_t allowed(TestCluster& cluster) {
  return as_integer(find(budget_of(cluster), "status", "disruptionsAllowed"));
}

void add_web_pods(TestCluster& cluster, int count) {
  for (int i = 0; i < count; ++i) cluster.add_pod(fmt::format("web-{}", i), R"({"app":"web"})");
}

// Puts an object under a controller.
void own(TestCluster& cluster, const ResourceType& type, const std::string& name,
         const ResourceType& owner_type, const Json& owner) {
  cluster.ok(kube::patch(
      type, {"default", name}, kube::PatchType::merge,
      from_text(fmt::format(
          R"({{"metadata":{{"ownerReferences":[{{"apiVersion":"{}","kind":"{}","name":"{}","uid":"{}","controller":true}}]}}}})",
          owner_type.api_version(), owner_type.kind, text_at(owner, "metadata", "name"),
          text_at(owner, "metadata", "uid")))));
}

Json add_workload(TestCluster& cluster, const ResourceType& type, const std::string& name,
                  std::string_view more) {
  return cluster.create(
      type, "default",
      fmt::format(
          R"({{"metadata":{{"name":"{}"}},"spec":{{{}"selector":{{"matchLabels":{{"app":"web"}}}},"template":{{"metadata":{{"labels":{{"app":"web"}}}},"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}}}}})",
          name, more));
}

// That many pods of a ReplicaSet that wants that many, or another number.
Json add_replica_set(TestCluster& cluster, int count, int wanted) {
  Json owner =
      add_workload(cluster, resource::replica_sets, "web", fmt::format("\"replicas\":{},", wanted));
  add_web_pods(cluster, count);
  for (int i = 0; i < count; ++i) {
    own(cluster, resource::pods, fmt::format("web-{}", i), resource::replica_sets, owner);
  }
  return owner;
}

int64_t expected(TestCluster& cluster) {
  return as_integer(find(budget_of(cluster), "status", "expectedPods"));
}

std::string why_not(TestCluster& cluster, const std::string& pod) {
  StatusError error = cluster.refused(evict(pod));
  EXPECT_EQ(error.code, 429);
  return error.causes.empty() ? "" : error.causes[0].message;
}

TEST(Disruption, TheBudgetsStatusFollowsThePods) {
  TestCluster cluster;
  add_web_pods(cluster, 3);
  add_budget(cluster, R"("minAvailable":2)");
  EXPECT_EQ(allowed(cluster), 1);
  EXPECT_EQ(expected(cluster), 3);
  cluster.add_pod("web-9", R"({"app":"web"})", "gpu-1", false);
  cluster.settle();
  EXPECT_EQ(allowed(cluster), 1) << "a pod that is not ready adds nothing";
}

TEST(Disruption, PercentagesRoundUp) {
  TestCluster cluster;
  add_replica_set(cluster, 3, 3);
  add_budget(cluster, R"("minAvailable":"50%")");
  EXPECT_EQ(as_integer(find(budget_of(cluster), "status", "desiredHealthy")), 2);
}

TEST(Disruption, PodsThatAreWantedAndMissingCount) {
  TestCluster cluster;
  add_replica_set(cluster, 3, 4);
  add_budget(cluster, R"("maxUnavailable":1)");
  EXPECT_EQ(expected(cluster), 4);
  EXPECT_EQ(allowed(cluster), 0);
}

TEST(Disruption, PodsWithoutAControllerCountOnlyForAWholeMinAvailable) {
  TestCluster cluster;
  add_web_pods(cluster, 3);
  add_budget(cluster, R"("maxUnavailable":1)");
  EXPECT_EQ(expected(cluster), 0);
  EXPECT_EQ(allowed(cluster), 0);
  EXPECT_EQ(why_not(cluster, "web-0"),
            "The disruption budget budget does not allow evicting pods currently");
  cluster.ok(kube::patch(resource::pod_disruption_budgets, {"default", "budget"},
                         kube::PatchType::merge,
                         from_text(R"({"spec":{"maxUnavailable":null,"minAvailable":"10%"}})")));
  cluster.settle();
  EXPECT_EQ(allowed(cluster), 0);
  cluster.ok(kube::patch(resource::pod_disruption_budgets, {"default", "budget"},
                         kube::PatchType::merge, from_text(R"({"spec":{"minAvailable":1}})")));
  cluster.settle();
  EXPECT_EQ(allowed(cluster), 2);
}

TEST(Disruption, ADeploymentSpeaksForItsReplicaSets) {
  TestCluster cluster;
  Json deployment = add_workload(cluster, resource::deployments, "web", R"("replicas":5,)");
  add_replica_set(cluster, 2, 2);
  own(cluster, resource::replica_sets, "web", resource::deployments, deployment);
  add_budget(cluster, R"("maxUnavailable":4)");
  EXPECT_EQ(expected(cluster), 5);
  EXPECT_EQ(allowed(cluster), 1);
}

TEST(Disruption, AControllerThatCannotBeAskedLetsNothingBeDisrupted) {
  TestCluster cluster;
  add_replica_set(cluster, 2, 2);
  add_budget(cluster, R"("maxUnavailable":1)");
  EXPECT_EQ(allowed(cluster), 1);
  Json owner = add_workload(cluster, resource::daemon_sets, "web", "");
  own(cluster, resource::pods, "web-0", resource::daemon_sets, owner);
  cluster.settle();
  EXPECT_EQ(allowed(cluster), 0);
  Json budget = budget_of(cluster);
  const Json& condition = find(budget, "status", "conditions")->get_array()[0];
  EXPECT_EQ(text_at(condition, "reason"), "SyncFailed");
  EXPECT_EQ(text_at(condition, "message"),
            "daemonsets.apps does not implement the scale subresource");
  EXPECT_EQ(why_not(cluster, "web-1"),
            "The disruption budget budget does not allow evicting pods currently because it failed "
            "sync: daemonsets.apps does not implement the scale subresource");
}

TEST(Disruption, EvictionTakesOneAndThenIsRefusedAsTheRealServerDoes) {
  TestCluster cluster;
  add_replica_set(cluster, 3, 3);
  add_budget(cluster, R"("maxUnavailable":1)");
  auto first = cluster.send(evict("web-0"));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->code, 201);
  EXPECT_TRUE(is_terminating(cluster.get(resource::pods, {"default", "web-0"})));
  auto error = cluster.refused(evict("web-1"));
  EXPECT_EQ(error.code, 429);
  EXPECT_EQ(error.message, "Cannot evict pod as it would violate the pod's disruption budget.");
  ASSERT_EQ(error.causes.size(), 1U);
  EXPECT_EQ(error.causes[0].reason, "DisruptionBudget");
  cluster.settle();
  error = cluster.refused(evict("web-1"));
  ASSERT_EQ(error.causes.size(), 1U);
  EXPECT_EQ(error.causes[0].message,
            "The disruption budget budget needs 2 healthy pods and has 2 currently");
}

TEST(Disruption, ABudgetNotYetLookedAtRefusesAndAsksToComeBack) {
  TestCluster cluster;
  add_web_pods(cluster, 1);
  cluster.create(
      resource::pod_disruption_budgets, "default",
      R"({"metadata":{"name":"budget"},"spec":{"selector":{"matchLabels":{"app":"web"}},"minAvailable":0}})");
  auto error = cluster.refused(evict("web-0"));
  EXPECT_EQ(error.code, 429);
  EXPECT_EQ(error.retry_after_seconds, 10);
}

TEST(Disruption, TwoBudgetsOnOnePodAreAnError) {
  TestCluster cluster;
  add_web_pods(cluster, 2);
  add_budget(cluster, R"("minAvailable":0)");
  add_budget(cluster, R"("minAvailable":0)", "second");
  EXPECT_EQ(cluster.refused(evict("web-0")).code, 500);
}

TEST(Disruption, UnhealthyAndEndedPodsAreFree) {
  TestCluster cluster;
  add_web_pods(cluster, 1);
  cluster.add_pod("sick", R"({"app":"web"})", "gpu-1", false);
  add_budget(cluster, R"("minAvailable":1)");
  EXPECT_EQ(cluster.refused(evict("web-0")).code, 429);
  cluster.ok(evict("sick"));
}

TEST(Disruption, EvictionHonoursItsDeleteOptions) {
  TestCluster cluster;
  cluster.add_pod("p");
  EXPECT_EQ(cluster.refused(evict("p", R"({"preconditions":{"uid":"x"}})")).code, 409);
  cluster.ok(evict("p", R"({"gracePeriodSeconds":0})"));
  EXPECT_FALSE(cluster.exists(resource::pods, {"default", "p"}));
  EXPECT_EQ(cluster.refused(evict("p")).code, 404);
}

}  // namespace
}  // namespace lockstep::apiserver::disruption_test
