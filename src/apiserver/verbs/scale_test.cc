#include "apiserver/verbs/scale.h"

#include "apiserver/verbs/cluster_test_util.h"

namespace lockstep::apiserver::scale_test {
namespace {

kube::Request scale_request(kube::Verb verb, std::string_view body = "null") {
  kube::Request request = kube::get(resource::deployments, {"default", "web"});
  request.verb = verb;
  request.subresource = "scale";
  if (body != "null") request.body = std::make_shared<const Json>(from_text(body));
  return request;
}

void add_deployment(TestCluster& cluster) {
  cluster.create(
      resource::deployments, "default",
      R"({"metadata":{"name":"web"},"spec":{"replicas":3,"selector":{"matchLabels":{"a":"b"}},
      "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
}

TEST(Scale, ShowsAndSetsTheReplicas) {
  TestCluster cluster;
  add_deployment(cluster);
  Json scale = cluster.ok(scale_request(kube::Verb::get));
  EXPECT_EQ(text_at(scale, "kind"), "Scale");
  EXPECT_EQ(as_integer(find(scale, "spec", "replicas")), 3);
  EXPECT_EQ(text_at(scale, "status", "selector"), "a=b");
  cluster.ok(scale_request(kube::Verb::update, R"({"spec":{"replicas":5}})"));
  cluster.ok(scale_request(kube::Verb::patch, R"({"spec":{"replicas":7}})"));
  EXPECT_EQ(
      as_integer(find(cluster.get(resource::deployments, {"default", "web"}), "spec", "replicas")),
      7);
}

TEST(Scale, OfACustomResourceIsWhereItsDefinitionSays) {
  TestCluster cluster;
  cluster.create(resource::custom_resource_definitions, "", R"({
      "metadata":{"name":"rollouts.example.com"},
      "spec":{"group":"example.com","scope":"Namespaced",
              "names":{"kind":"Rollout","plural":"rollouts"},
              "versions":[{"name":"v1","served":true,"storage":true,
                "schema":{"openAPIV3Schema":{"type":"object",
                  "x-kubernetes-preserve-unknown-fields":true}},
                "subresources":{"scale":{"specReplicasPath":".spec.width",
                  "statusReplicasPath":".status.width","labelSelectorPath":".status.selector"}}}]}})");
  const ResourceType rollouts{"example.com", "v1", "Rollout", "rollouts", true};
  cluster.create(rollouts, "default",
                 R"({"metadata":{"name":"web"},"spec":{"width":2},
                     "status":{"width":1,"selector":"a=b"}})");
  kube::Request request = scale_request(kube::Verb::get);
  request.type = rollouts;
  Json scale = cluster.ok(request);
  EXPECT_EQ(as_integer(find(scale, "spec", "replicas")), 2);
  EXPECT_EQ(as_integer(find(scale, "status", "replicas")), 1);
  EXPECT_EQ(text_at(scale, "status", "selector"), "a=b");
  request = scale_request(kube::Verb::update, R"({"spec":{"replicas":5}})");
  request.type = rollouts;
  cluster.ok(request);
  Json rollout = cluster.get(rollouts, {"default", "web"});
  EXPECT_EQ(as_integer(find(rollout, "spec", "width")), 5);
  EXPECT_EQ(find(rollout, "spec", "replicas"), nullptr);
}

TEST(Scale, BadNumbersAndOldVersionsAreRefused) {
  TestCluster cluster;
  add_deployment(cluster);
  EXPECT_EQ(cluster.refused(scale_request(kube::Verb::update, R"({"spec":{"replicas":-1}})")).code,
            422);
  EXPECT_EQ(
      cluster
          .refused(scale_request(kube::Verb::update,
                                 R"({"metadata":{"resourceVersion":"1"},"spec":{"replicas":1}})"))
          .code,
      409);
  EXPECT_EQ(cluster.refused(scale_request(kube::Verb::remove)).code, 405);
}

}  // namespace
}  // namespace lockstep::apiserver::scale_test
