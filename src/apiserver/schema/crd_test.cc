#include "apiserver/schema/crd.h"

#include <gtest/gtest.h>

#include "apiserver/schema/crd_test_util.h"

namespace lockstep::apiserver::crd_test {
namespace {

const BuiltinSchemas& builtin() {
  static const BuiltinSchemas schemas;
  return schemas;
}

TEST(Crd, ServedVersionsBecomeResources) {
  Json crd = widget_crd(
      "{'type':'object','properties':{'metadata':{'type':'object','properties':{'name':{'type':'"
      "string',"
      "'maxLength':3}}}}}");
  ASSERT_EQ(text_of(prepare_crd(crd, builtin())), "");
  auto resources = resources_from_crd(crd, builtin());
  ASSERT_EQ(resources.size(), 2U);
  const ResourceInfo& v1 = *resources[0];
  EXPECT_TRUE(v1.custom);
  EXPECT_EQ(v1.type, (ResourceType{"example.com", "v1", "Widget", "widgets", true}));
  EXPECT_EQ(v1.storage, "widgets.example.com");
  EXPECT_TRUE(v1.has("status"));
  EXPECT_EQ(v1.scale.spec_replicas, ".spec.n");
  EXPECT_EQ(v1.columns.size(), 1U);
  EXPECT_EQ(v1.columns[0].json_path, ".spec.size");
  EXPECT_EQ(v1.deprecation_warning, "");
  EXPECT_EQ(resources[1]->columns[0].name, "Age");
  EXPECT_EQ(resources[1]->deprecation_warning, "example.com/v1beta1 Widget is deprecated");
  // A CRD may narrow the name, and nothing is lost of the rest of metadata.
  ASSERT_NE(v1.schema, nullptr);
  EXPECT_EQ(text_of(validate(*v1.schema, json("{'metadata':{'name':'long'}}"))),
            "metadata.name: Too long: may not be more than 3 bytes");
  EXPECT_TRUE(unknown_fields(*v1.schema, json("{'metadata':{'labels':{'a':'b'}}}")).empty());
}

TEST(Crd, VersionsInKubernetesOrder) {
  std::vector<std::string> versions = {"v1alpha1", "v10", "foo",      "v2beta1",
                                       "v1",       "v2",  "v2beta10", "v11beta2"};
  std::sort(versions.begin(), versions.end(), version_before);
  EXPECT_EQ(versions, (std::vector<std::string>{"v10", "v2", "v1", "v11beta2", "v2beta10",
                                                "v2beta1", "v1alpha1", "foo"}));
}

}  // namespace
}  // namespace lockstep::apiserver::crd_test
