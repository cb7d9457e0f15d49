#include "apiserver/openapi.h"

#include <set>

#include <gtest/gtest.h>

#include "apiserver/discovery.h"
#include "apiserver/testing.h"

namespace lockstep::apiserver {
namespace {

class OpenApiTest : public testing::Test {
 protected:
  OpenApiTest() {
    table_.add_custom(
        json("{'metadata':{'name':'widgets.example.com'},'spec':{'group':'example.com','scope':'"
             "Cluster',"
             "'names':{'kind':'Widget','plural':'widgets'},'versions':[{'name':'v1','served':true,"
             "'storage':true,'schema':{'openAPIV3Schema':{'type':'object','properties':{'spec':{'"
             "type':'object',"
             "'x-kubernetes-validations':[{'rule':'true'}]}}}}}]}}"));
  }

  static void collect_references(const Json& value, std::set<std::string>& into) {
    if (const JsonArray* array = value.if_array()) {
      for (const Json& item : *array) collect_references(item, into);
    } else if (const JsonObject* object = value.if_object()) {
      for (const auto& entry : *object) {
        if (entry.key() == "$ref" && entry.value().is_string())
          into.emplace(entry.value().get_string());
        collect_references(entry.value(), into);
      }
    }
  }

  BuiltinSchemas schemas_;
  ResourceTable table_{schemas_};
};

TEST_F(OpenApiTest, EveryReferenceResolves) {
  for (const ResourceInfo* info : table_.all()) {
    std::optional<Json> document =
        openapi_v3(table_, schemas_, info->type.group, info->type.version);
    ASSERT_TRUE(document);
    std::set<std::string> references;
    collect_references(*document, references);
    for (const std::string& reference : references) {
      std::string_view name =
          std::string_view(reference).substr(std::string_view("#/components/schemas/").size());
      EXPECT_NE(find(*document, "components", "schemas", name), nullptr) << reference;
    }
  }
  std::set<std::string> references;
  Json v2 = openapi_v2(table_, schemas_);
  collect_references(v2, references);
  EXPECT_GT(references.size(), 300U);
  for (const std::string& reference : references) {
    EXPECT_NE(find(v2, "definitions", std::string_view(reference).substr(14)), nullptr)
        << reference;
  }
}

TEST_F(OpenApiTest, IndexNamesEveryDocumentAndChangesWithCrds) {
  Json index = openapi_v3_index(table_);
  std::string before(text_at(index, "paths", "apis/example.com/v1", "serverRelativeURL"));
  EXPECT_TRUE(before.starts_with("/openapi/v3/apis/example.com/v1?hash="));
  EXPECT_NE(find(index, "paths", "api/v1"), nullptr);
  table_.add_custom(json(
      "{'metadata':{'name':'widgets.example.com'},'spec':{'group':'example.com','scope':'Cluster',"
      "'names':{'kind':'Widget','plural':'widgets'},'versions':[{'name':'v1','served':true,"
      "'storage':true,'schema':{'openAPIV3Schema':{'type':'object'}}}]}}"));
  EXPECT_NE(text_at(openapi_v3_index(table_), "paths", "apis/example.com/v1", "serverRelativeURL"),
            before);
  EXPECT_FALSE(openapi_v3(table_, schemas_, "nosuch.io", "v1"));
}

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
  const Json* content = find(document, "paths", "/apis/example.com/v1/widgets/{name}", "patch",
                             "requestBody", "content");
  ASSERT_NE(content, nullptr);
  EXPECT_NE(find(*content, "application/merge-patch+json"), nullptr);
  EXPECT_EQ(find(*content, "application/strategic-merge-patch+json"), nullptr);
}

}  // namespace
}  // namespace lockstep::apiserver
