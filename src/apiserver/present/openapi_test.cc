#include "apiserver/present/openapi.h"

#include <gtest/gtest.h>

#include "apiserver/present/openapi_test_util.h"

namespace lockstep::apiserver::openapi_test {
namespace {

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

}  // namespace
}  // namespace lockstep::apiserver::openapi_test
