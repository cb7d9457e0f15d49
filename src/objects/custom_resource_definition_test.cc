#include "objects/custom_resource_definition.h"

#include <gtest/gtest.h>

#include "objects/decode_test_util.h"

namespace lockstep::custom_resource_definition_test {
namespace {

TEST(CustomResourceDefinition, KeepsNamesAndVersions) {
  auto definition =
      decoded<CustomResourceDefinition>(R"({"metadata":{"name":"nvidiadrivers.nvidia.com"},
    "spec":{"group":"nvidia.com","scope":"Cluster",
      "names":{"kind":"NVIDIADriver","listKind":"NVIDIADriverList","plural":"nvidiadrivers",
        "singular":"nvidiadriver","shortNames":["nvd","nvdrivers"]},
      "versions":[{"name":"v1alpha1","served":true,"storage":true,"schema":{"openAPIV3Schema":{}},
          "subresources":{"status":{}}},
        {"name":"v1","served":false,"storage":false,"subresources":{"status":null}}]},
    "status":{"acceptedNames":{"kind":"NVIDIADriver"},
      "conditions":[{"type":"NamesAccepted","status":"True"},{"type":"Established","status":"True"}]}})");
  EXPECT_EQ(definition.group, "nvidia.com");
  EXPECT_EQ(definition.kind, "NVIDIADriver");
  EXPECT_EQ(definition.list_kind, "NVIDIADriverList");
  EXPECT_EQ(definition.plural, "nvidiadrivers");
  EXPECT_EQ(definition.singular, "nvidiadriver");
  EXPECT_EQ(definition.short_names, (std::vector<Text>{"nvd", "nvdrivers"}));
  EXPECT_FALSE(definition.namespaced);
  EXPECT_TRUE(definition.established);
  EXPECT_EQ(definition.versions, (std::vector<CustomResourceDefinition::Version>{
                                     {"v1alpha1", true, true, true}, {"v1", false, false, false}}));
}

TEST(CustomResourceDefinition, IsEstablishedOnlyWhenItSaysSo) {
  auto definition = decoded<CustomResourceDefinition>(R"({"metadata":{"name":"a"},
    "spec":{"scope":"Namespaced"},"status":{"conditions":[{"type":"Established","status":"False"}]}})");
  EXPECT_FALSE(definition.established);
  EXPECT_TRUE(definition.namespaced);
}

}  // namespace
}  // namespace lockstep::custom_resource_definition_test
