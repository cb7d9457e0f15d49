#include <gtest/gtest.h>

#include "apiserver/present/openapi_test_util.h"

namespace lockstep::apiserver::openapi_schemas_test {
namespace {

TEST_F(OpenApiTest, SchemasTellKindsAndMergeKeys) {
  Json document = *openapi_v3(table_, schemas_, "apps", "v1");
  const Json* containers = find(document, "components", "schemas", "io.k8s.api.core.v1.PodSpec",
                                "properties", "containers");
  ASSERT_NE(containers, nullptr);
  EXPECT_EQ(*containers,
            json("{'description':'The containers of the pod; at least "
                 "one.','type':'array','items':{'allOf':"
                 "[{'$ref':'#/components/schemas/io.k8s.api.core.v1.Container'}]},"
                 "'x-kubernetes-list-map-keys':['name'],'x-kubernetes-list-type':'map',"
                 "'x-kubernetes-patch-merge-key':'name','x-kubernetes-patch-strategy':'merge'}"));
  EXPECT_EQ(*find(document, "components", "schemas", "io.k8s.api.apps.v1.DaemonSet",
                  "x-kubernetes-group-version-kind"),
            json("[{'group':'apps','kind':'DaemonSet','version':'v1'}]"));
}

TEST_F(OpenApiTest, CustomResourcesAreShownAsTheirCrdSays) {
  Json document = *openapi_v3(table_, schemas_, "example.com", "v1");
  const Json* schema = find(document, "components", "schemas", "com.example.v1.Widget");
  ASSERT_NE(schema, nullptr);
  EXPECT_NE(find(*schema, "properties", "spec", "x-kubernetes-validations"), nullptr);
  EXPECT_NE(find(*schema, "properties", "metadata", "allOf"), nullptr);
}

}  // namespace
}  // namespace lockstep::apiserver::openapi_schemas_test
