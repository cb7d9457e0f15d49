#include <gtest/gtest.h>

#include "apiserver/present/openapi_test_util.h"

namespace lockstep::apiserver::openapi_paths_test {
namespace {

// What kubectl reads: explain finds the kind by the path, apply the patches and the merge keys,
// --dry-run and --validate the parameters.
TEST_F(OpenApiTest, HasWhatKubectlLooksFor) {
  Json document = *openapi_v3(table_, schemas_, "apps", "v1");
  const Json* path =
      find(document, "paths", "/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}");
  ASSERT_NE(path, nullptr);
  const Json* patch = find(*path, "patch");
  ASSERT_NE(patch, nullptr);
  EXPECT_EQ(*find(*patch, "x-kubernetes-group-version-kind"),
            json("{'group':'apps','kind':'DaemonSet','version':'v1'}"));
  EXPECT_NE(find(*patch, "requestBody", "content", "application/strategic-merge-patch+json"),
            nullptr);
  std::set<std::string_view> parameters;
  for (const Json& parameter : find(*patch, "parameters")->get_array()) {
    parameters.insert(text_at(parameter, "name"));
  }
  EXPECT_TRUE(parameters.contains("dryRun"));
  EXPECT_TRUE(parameters.contains("fieldValidation"));
}

TEST_F(OpenApiTest, CustomResourcesTakeNoStrategicPatch) {
  Json document = *openapi_v3(table_, schemas_, "example.com", "v1");
  const Json* content = find(document, "paths", "/apis/example.com/v1/widgets/{name}", "patch",
                             "requestBody", "content");
  ASSERT_NE(content, nullptr);
  EXPECT_NE(find(*content, "application/merge-patch+json"), nullptr);
  EXPECT_EQ(find(*content, "application/strategic-merge-patch+json"), nullptr);
}

}  // namespace
}  // namespace lockstep::apiserver::openapi_paths_test
