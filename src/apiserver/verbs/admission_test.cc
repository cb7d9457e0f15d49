#include "apiserver/verbs/admission.h"

#include "apiserver/verbs/cluster_test_util.h"

namespace lockstep::apiserver::admission_test {
namespace {

TEST(Admission, TheBodyMustAgreeWithTheUrl) {
  TestCluster cluster;
  const ResourceInfo& info = *cluster.backend.table.find(resource::config_maps);
  kube::Request request = kube::get(resource::config_maps, {"default", "c"});
  struct Case {
    std::string_view body;
    std::string_view complaint;
  };
  for (const Case& test :
       {Case{R"({"apiVersion":"v2"})", "API version"}, Case{R"({"kind":"Pod"})", "kind"},
        Case{R"({"metadata":{"name":"d"}})", "name of the object"},
        Case{R"({"metadata":{"namespace":"other"}})", "namespace"},
        Case{R"({"metadata":3})", "metadata"}, Case{"[]", "object"}}) {
    Json object = from_text(test.body);
    auto checked = check_header(info, object, request);
    ASSERT_FALSE(checked) << test.body;
    EXPECT_EQ(checked.error().code, 400);
    EXPECT_NE(checked.error().message.find(test.complaint), std::string::npos)
        << checked.error().message;
  }
  Json empty = JsonObject{};
  ASSERT_TRUE(check_header(info, empty, request));
  EXPECT_EQ(
      print_json(empty),
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"default"}})");
}

TEST(Admission, AValueOfTheWrongTypeCannotBeRead) {
  TestCluster cluster;
  auto error = cluster.refused(
      kube::create(resource::nodes, "",
                   from_text(R"({"metadata":{"name":"n"},"spec":{"unschedulable":"yes"}})")));
  EXPECT_EQ(error.code, 400);
  EXPECT_NE(error.message.find("spec.unschedulable"), std::string::npos) << error.message;
}

TEST(Admission, SameContentIgnoresTheVersionOnly) {
  Json a = from_text(R"({"metadata":{"name":"x","resourceVersion":"1"},"spec":{"a":1}})");
  Json b = from_text(R"({"spec":{"a":1},"metadata":{"resourceVersion":"2","name":"x"}})");
  EXPECT_TRUE(same_content(a, b));
  b.as_object()["spec"].as_object()["a"] = 2;
  EXPECT_FALSE(same_content(a, b));
}

TEST(Admission, WhatTheServerSetCannotBeChanged) {
  TestCluster cluster;
  Json node = cluster.create(resource::nodes, "", R"({"metadata":{"name":"n"}})");
  Json changed = cluster.ok(kube::patch(
      resource::nodes, {"", "n"}, kube::PatchType::merge,
      from_text(
          R"({"metadata":{"creationTimestamp":"2001-01-01T00:00:00Z","labels":{"a":"b"}}})")));
  EXPECT_EQ(text_at(changed, "metadata", "creationTimestamp"),
            text_at(node, "metadata", "creationTimestamp"));
}

TEST(Admission, MayVanish) {
  EXPECT_TRUE(may_vanish("configmaps", from_text(R"({"metadata":{}})")));
  EXPECT_FALSE(may_vanish("configmaps", from_text(R"({"metadata":{"finalizers":["a"]}})")));
  EXPECT_FALSE(may_vanish("pods", from_text(R"({"metadata":{"deletionGracePeriodSeconds":5}})")));
  EXPECT_TRUE(may_vanish("pods", from_text(R"({"metadata":{"deletionGracePeriodSeconds":0}})")));
  EXPECT_FALSE(may_vanish("namespaces",
                          from_text(R"({"metadata":{},"spec":{"finalizers":["kubernetes"]}})")));
}

}  // namespace
}  // namespace lockstep::apiserver::admission_test
