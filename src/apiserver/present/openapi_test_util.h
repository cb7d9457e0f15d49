// A table with a custom resource, for the tests of OpenAPI.
#pragma once

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "apiserver/present/discovery.h"
#include "apiserver/present/openapi.h"
#include "apiserver/schema/schema_test_util.h"

namespace lockstep::apiserver {

class OpenApiTest : public ::testing::Test {
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

}  // namespace lockstep::apiserver
