#include "apiserver/scale.h"

#include "apiserver/cluster_test_util.h"

namespace lockstep::apiserver {
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
}  // namespace lockstep::apiserver
