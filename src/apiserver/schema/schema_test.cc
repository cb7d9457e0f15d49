#include "apiserver/schema/schema.h"

#include <gtest/gtest.h>

#include "apiserver/schema/schema_test_util.h"

namespace lockstep::apiserver::schema_test {
namespace {

TEST_F(SchemaTest, StrategicMergeKeysByPath) {
  struct Case {
    const char* path;
    ListMerge::Kind kind;
    const char* key;
    bool retain_keys;
  };
  const Case cases[] = {
      {"spec.template.spec.containers", ListMerge::Kind::by_key, "name", false},
      {"spec.template.spec.containers.env", ListMerge::Kind::by_key, "name", false},
      {"spec.template.spec.containers.ports", ListMerge::Kind::by_key, "containerPort", false},
      {"spec.template.spec.volumes", ListMerge::Kind::by_key, "name", true},
      {"spec.template.spec.tolerations", ListMerge::Kind::atomic, "", false},
      {"metadata.finalizers", ListMerge::Kind::set, "", false},
      {"metadata.ownerReferences", ListMerge::Kind::by_key, "uid", false},
      {"metadata.labels.app", ListMerge::Kind::atomic, "", false},
      {"no.such.path", ListMerge::Kind::atomic, "", false},
      {"", ListMerge::Kind::atomic, "", false},
  };
  SchemaMerge merge(&daemon_set());
  for (const Case& each : cases) {
    ListMerge found = merge.at(each.path);
    EXPECT_EQ(found.kind, each.kind) << each.path;
    EXPECT_EQ(found.key, each.key) << each.path;
    EXPECT_EQ(found.retain_keys, each.retain_keys) << each.path;
  }
  EXPECT_TRUE(
      SchemaMerge(builtin().of("apps", "v1", "Deployment")).at("spec.strategy").retain_keys);
  EXPECT_EQ(SchemaMerge(nullptr).at("spec").kind, ListMerge::Kind::atomic);
}

TEST(TouchedFieldsTest, AreThoseThatThePatchNamesAndTheMetadata) {
  JsonObject patch = json("{'status':{'phase':'Running'},'kind':'Pod'}").as_object();
  TouchedFields touched = TouchedFields::by(patch);
  EXPECT_TRUE(touched.contains("status"));
  EXPECT_TRUE(touched.contains("metadata"));
  EXPECT_FALSE(touched.contains("spec"));
  EXPECT_TRUE(touched.only_status());
  JsonObject of_spec = json("{'status':{},'spec':null}").as_object();
  EXPECT_TRUE(TouchedFields::by(of_spec).contains("spec"));
  EXPECT_FALSE(TouchedFields::by(of_spec).only_status());
}

TEST(TouchedFieldsTest, BelowAFieldAreThoseThatThePatchNamesThere) {
  JsonObject patch =
      json("{'metadata':{'labels':{'a':'b'}},'status':{'list':[{}]},'spec':{'$patch':'replace'}}")
          .as_object();
  const Json value = JsonObject{};
  auto below = [&](const TouchedFields& touched, std::string_view field) {
    return touched.below(field, value).value();
  };
  TouchedFields touched = TouchedFields::by(patch);
  TouchedFields metadata = below(touched, "metadata");
  EXPECT_TRUE(metadata.contains("labels"));
  EXPECT_FALSE(metadata.contains("annotations"));
  EXPECT_FALSE(metadata.contains("metadata"));
  EXPECT_FALSE(metadata.below("annotations", value)) << "not touched";
  EXPECT_TRUE(below(metadata, "labels").contains("a"));
  EXPECT_FALSE(below(metadata, "labels").contains("b"));
  // What is a list, or has a directive, may have changed anywhere.
  EXPECT_TRUE(below(below(touched, "status"), "list").all());
  EXPECT_TRUE(below(touched, "spec").all());
  // The server writes name and namespace itself, whatever the patch.
  JsonObject of_status = json("{'status':{}}").as_object();
  EXPECT_TRUE(TouchedFields::by(of_status).contains("metadata"));
  EXPECT_FALSE(below(TouchedFields::by(of_status), "metadata").contains("labels"));
  EXPECT_TRUE(below(TouchedFields(), "spec").all());
}

TEST(TouchedFieldsTest, AreAllWhenThePatchHasDirectivesOrThereIsNone) {
  for (const char* text : {"{'$patch':'replace','status':{}}", "{'$retainKeys':['status']}"}) {
    JsonObject patch = json(text).as_object();
    EXPECT_TRUE(TouchedFields::by(patch).contains("spec")) << text;
    EXPECT_FALSE(TouchedFields::by(patch).only_status()) << text;
  }
  EXPECT_TRUE(TouchedFields().contains("spec"));
  EXPECT_FALSE(TouchedFields().only_status());
}

TEST(TouchedFieldsTest, WhatIsSharedWithTheObjectBeforeWasNotChanged) {
  const Json before = json("{'status':{'conditions':[{'type':'a'},{'type':'b'}],'images':[]}}");
  Json after = before;
  find(after, "status", "conditions")->get_array()[1].get_object()["type"] = "c";
  const JsonObject patch = json("{'status':{'conditions':[{}],'images':[]}}").as_object();
  const Json& now = std::as_const(after).at("status");
  const Json& conditions = now.at("conditions");
  const TouchedFields status = TouchedFields::by(patch, &before).below("status", now).value();
  EXPECT_FALSE(status.below("images", now.at("images")));
  ASSERT_TRUE(status.below("conditions", conditions));
  EXPECT_FALSE(status.below("conditions", conditions)->below_item(0, conditions.at(0)));
  EXPECT_TRUE(status.below("conditions", conditions)->below_item(1, conditions.at(1)));
  // Nothing is known of what it was: all of it may have changed.
  const TouchedFields unknown = TouchedFields::by(patch).below("status", now).value();
  EXPECT_TRUE(unknown.below("images", now.at("images")));
  ASSERT_TRUE(unknown.below("conditions", conditions));
  EXPECT_TRUE(unknown.below("conditions", conditions)->below_item(0, conditions.at(0)));
}

}  // namespace
}  // namespace lockstep::apiserver::schema_test
