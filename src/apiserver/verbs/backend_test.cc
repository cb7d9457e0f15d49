#include "apiserver/verbs/backend.h"

#include "apiserver/verbs/cluster_test_util.h"

namespace lockstep::apiserver::backend_test {
namespace {

TEST(Backend, WhatIsNotServedIsNotFound) {
  TestCluster cluster;
  EXPECT_EQ(
      cluster.refused(kube::list(ResourceType{"no.such", "v1", "Thing", "things", true})).code,
      404);
  kube::Request request = kube::get(resource::nodes, {"", "n"});
  request.subresource = "nothing";
  EXPECT_EQ(cluster.refused(request).code, 404);
}

TEST(Backend, AWriteWithoutABodyIsRefused) {
  TestCluster cluster;
  kube::Request request = kube::get(resource::nodes, {"", "n"});
  for (auto verb : {kube::Verb::create, kube::Verb::update, kube::Verb::patch}) {
    request.verb = verb;
    EXPECT_EQ(cluster.refused(request).code, 400);
  }
}

TEST(Backend, WhoLooksOnIsToldWhoWrites) {
  TestCluster cluster;
  std::vector<std::string> seen;
  cluster.backend.store.add_listener([&](const std::string& storage, const Change&) {
    const Origin& origin = cluster.backend.store.origin();
    seen.push_back(storage + ":" + std::string(origin.who) + ":" + std::string(origin.verb));
  });
  cluster.caller.user = "alice";
  cluster.create(resource::config_maps, "default",
                 R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})");
  cluster.backend.store.put("things", {"", "x"}, JsonObject{});
  EXPECT_EQ(seen, (std::vector<std::string>{"configmaps:alice:create", "things::"}));
}

TEST(Backend, ACustomResourceIsServedOnceItsDefinitionIsThere) {
  TestCluster cluster;
  ResourceType policies{"nvidia.com", "v1", "ClusterPolicy", "clusterpolicies", false};
  EXPECT_EQ(cluster.refused(kube::list(policies)).code, 404);
  cluster.create(resource::custom_resource_definitions, "", R"({
    "apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
    "metadata":{"name":"clusterpolicies.nvidia.com"},
    "spec":{"group":"nvidia.com","scope":"Cluster",
      "names":{"plural":"clusterpolicies","kind":"ClusterPolicy"},
      "versions":[{"name":"v1","served":true,"storage":true,
        "schema":{"openAPIV3Schema":{"type":"object","properties":{
          "spec":{"type":"object","properties":{
            "parallel":{"type":"integer","minimum":0,"default":1},
            "version":{"type":"string"}}}}}}}]}})");
  Json made = cluster.create(
      policies, "", R"({"metadata":{"name":"cluster-policy"},"spec":{"version":"1","junk":2}})");
  EXPECT_EQ(as_integer(find(made, "spec", "parallel")), 1) << "defaulted";
  EXPECT_EQ(find(made, "spec", "junk"), nullptr) << "pruned";
  auto error = cluster.refused(kube::patch(policies, {"", "cluster-policy"}, kube::PatchType::merge,
                                           from_text(R"({"spec":{"parallel":-1}})")));
  EXPECT_EQ(error.code, 422);
  ASSERT_EQ(error.causes.size(), 1U);
  EXPECT_EQ(error.causes[0].field, "spec.parallel");
  EXPECT_EQ(cluster
                .refused(kube::patch(policies, {"", "cluster-policy"}, kube::PatchType::strategic,
                                     from_text("{}")))
                .code,
            415);
  Json crd = cluster.get(resource::custom_resource_definitions, {"", "clusterpolicies.nvidia.com"});
  EXPECT_EQ(find(crd, "status", "conditions")->as_array().size(), 2U);
  cluster.ok(
      kube::remove(resource::custom_resource_definitions, {"", "clusterpolicies.nvidia.com"}));
  EXPECT_EQ(cluster.refused(kube::list(policies)).code, 404);
}

TEST(Backend, TheSameEventIsSeenThroughBothOfItsVersions) {
  TestCluster cluster;
  ResourceType newer{"events.k8s.io", "v1", "Event", "events", true};
  cluster.create(
      resource::events, "default",
      R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Node","name":"n","namespace":"default"},
                     "reason":"GPUDriverUpgrade","message":"hello","type":"Normal","count":2})");
  Json seen = cluster.get(newer, {"default", "e"});
  EXPECT_EQ(text_at(seen, "apiVersion"), "events.k8s.io/v1");
  EXPECT_EQ(text_at(seen, "note"), "hello");
  EXPECT_EQ(text_at(seen, "regarding", "name"), "n");
}

TEST(Backend, TheSameSeedGivesTheSameObjects) {
  auto run = [] {
    TestCluster cluster;
    return print_json(
        cluster.create(resource::config_maps, "default", R"({"metadata":{"generateName":"x-"}})"));
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace lockstep::apiserver::backend_test
