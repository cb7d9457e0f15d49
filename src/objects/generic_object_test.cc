#include "objects/generic_object.h"

#include <gtest/gtest.h>

#include "objects/decode_test_util.h"

namespace lockstep::generic_object_test {
namespace {

constexpr std::string_view policy = R"({"apiVersion":"nvidia.com/v1","kind":"ClusterPolicy",
  "metadata":{"name":"cluster-policy","resourceVersion":"7"},"spec":{"driver":{"version":"580"}}})";

TEST(GenericObject, KeepsTheWholeDocument) {
  GenericObject object = decoded<GenericObject>(policy);
  EXPECT_EQ(object.kind, "ClusterPolicy");
  EXPECT_EQ(object.api_version, "nvidia.com/v1");
  EXPECT_EQ(object.meta.name, "cluster-policy");
  EXPECT_EQ(text_at(*object.document, "spec", "driver", "version"), "580");
}

TEST(GenericObject, SharesADocument) {
  DecodeContext context;
  auto document = std::make_shared<const Json>(*parse_json(policy));
  auto object = generic_object(document, context);
  ASSERT_TRUE(object.has_value());
  EXPECT_EQ(object->document, document);
  EXPECT_EQ(object->meta.resource_version, "7");
}

TEST(GenericObject, ErrorsNameTheObject) {
  DecodeContext context;
  auto document = [](std::string_view text) {
    return std::make_shared<const Json>(*parse_json(text));
  };
  auto bad = generic_object(
      document(R"({"kind":"ClusterPolicy","metadata":{"name":"a","generation":"x"}})"), context);
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().place, "ClusterPolicy a");
  EXPECT_FALSE(generic_object(document("{}"), context).has_value());
  EXPECT_FALSE(generic_object(document("[]"), context).has_value());
  EXPECT_FALSE(generic_object(document("null"), context).has_value());
  EXPECT_NE(decode_error<GenericObject>(R"({"metadata":{"name":"a","generation":"x"}})"), "");
}

TEST(GenericObject, EqualsByContent) {
  GenericObject a = decoded<GenericObject>(policy);
  GenericObject b = decoded<GenericObject>(policy);
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a == GenericObject());
  EXPECT_TRUE(GenericObject() == GenericObject());
}

}  // namespace
}  // namespace lockstep::generic_object_test
