#include "apiserver/present/media.h"

#include <gtest/gtest.h>

namespace lockstep::apiserver::media_test {
namespace {

TEST(Media, WhatKubectlAndBrowsersAccept) {
  struct Case {
    const char* accept;
    Shape shape;
    bool yaml;
  };
  for (const Case& test : {
           Case{"", Shape::object, false},
           Case{"*/*", Shape::object, false},
           Case{"application/json;as=Table;v=v1;g=meta.k8s.io,application/"
                "json;as=Table;v=v1beta1;g=meta.k8s.io,"
                "application/json",
                Shape::table, false},
           Case{"application/vnd.kubernetes.protobuf,application/json", Shape::object, false},
           Case{"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", Shape::metadata,
                false},
           Case{"application/yaml", Shape::object, true},
           Case{"application/json;as=Table;v=v7;g=meta.k8s.io, application/json", Shape::object,
                false},
       }) {
    auto wanted = negotiate(test.accept, nullptr);
    ASSERT_TRUE(wanted) << test.accept;
    EXPECT_EQ(wanted->shape, test.shape) << test.accept;
    EXPECT_EQ(wanted->yaml, test.yaml) << test.accept;
  }
  auto refused = negotiate("application/vnd.kubernetes.protobuf", nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 406);
}

TEST(Media, IncludeObjectIsOneOfThree) {
  kube::Request request;
  request.with("includeObject", "Object");
  EXPECT_EQ(negotiate("", &request)->include, IncludeObject::object);
  kube::Request bad;
  bad.with("includeObject", "Some");
  EXPECT_EQ(negotiate("", &bad).error().code, 400);
}

TEST(Media, PatchTypes) {
  EXPECT_EQ(*patch_type_of("application/merge-patch+json; charset=utf-8"), kube::PatchType::merge);
  EXPECT_EQ(*patch_type_of("application/apply-patch+yaml"), kube::PatchType::apply);
  EXPECT_EQ(patch_type_of("application/json").error().code, 415);
}

TEST(Media, BodiesAreReadByTheirType) {
  EXPECT_EQ(text_at(**read_body(R"({"a":"b"})", "application/json", false), "a"), "b");
  EXPECT_EQ(text_at(**read_body("a: b\n", "application/yaml", false), "a"), "b");
  EXPECT_EQ(text_at(**read_body("a: b\n", "application/apply-patch+yaml", true), "a"), "b");
  EXPECT_EQ(*read_body("", "application/json", false), nullptr);
  EXPECT_EQ(read_body("{", "application/json", false).error().code, 400);
  EXPECT_EQ(read_body("k8s", "application/vnd.kubernetes.protobuf", false).error().code, 415);
}

TEST(Media, AChainOfMergesIsA400ThatSaysWhy) {
  // 23 KB that would copy 166 million keys.
  std::string body = "m0: &m0 {k0: 0}\n";
  for (int map = 1; map < 1000; ++map) {
    body += fmt::format("m{0}: &m{0} {{<<: *m{1}, k{0}: 0}}\n", map, map - 1);
  }
  const auto refused = read_body(body, "application/yaml", false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 400);
  EXPECT_NE(refused.error().message.find("<< copies more than 200000 keys"), std::string::npos)
      << refused.error().message;
}

}  // namespace
}  // namespace lockstep::apiserver::media_test
