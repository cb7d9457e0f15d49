#include <gtest/gtest.h>

#include "apiserver/schema/crd.h"
#include "apiserver/schema/crd_test_util.h"

namespace lockstep::apiserver::crd_schema_test {
namespace {

const BuiltinSchemas& builtin() {
  static const BuiltinSchemas schemas;
  return schemas;
}

TEST(Crd, DefaultsMustFitTheirSchema) {
  Json crd = widget_crd("{'type':'object','properties':{'n':{'type':'integer','default':'x'}}}");
  EXPECT_EQ(
      text_of(prepare_crd(crd, builtin())),
      "spec.versions[0].schema.openAPIV3Schema.properties[n].default: Invalid value: \"string\": "
      "spec.versions[0].schema.openAPIV3Schema.properties[n].default in body must be of type "
      "integer: \"string\"");
}

TEST_F(SchemaTest, CustomSchemasAlwaysKnowTheirMetadata) {
  const Schema& schema = custom("{'type':'object','properties':{'metadata':{'type':'object'}}}");
  EXPECT_EQ(schema.field("apiVersion")->type, Schema::Type::string);
  EXPECT_NE(schema.field("metadata")->field("ownerReferences"), nullptr);
}

TEST_F(SchemaTest, ReadsEveryKeyword) {
  const Schema& schema = custom(
      "{'type':'object','properties':{'a':{'type':'array','x-kubernetes-list-type':'set','minItems'"
      ":1,"
      "'items':{'type':'string','format':'date','nullable':false}},'m':{'type':'object',"
      "'x-kubernetes-map-type':'atomic','additionalProperties':{'type':'integer'}},"
      "'any':{'x-kubernetes-preserve-unknown-fields':true}}}");
  EXPECT_EQ(schema.field("a")->list_kind, Schema::ListKind::set);
  EXPECT_EQ(schema.field("a")->min_items, 1);
  EXPECT_EQ(schema.field("a")->items->format, "date");
  EXPECT_EQ(schema.field("m")->type, Schema::Type::map);
  EXPECT_TRUE(schema.field("m")->atomic);
  EXPECT_EQ(schema.field("any")->type, Schema::Type::any);
}

}  // namespace
}  // namespace lockstep::apiserver::crd_schema_test
