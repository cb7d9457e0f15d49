#include "apiserver/schema/crd_structural.h"

#include <gtest/gtest.h>

#include "apiserver/schema/schema_test_util.h"

namespace lockstep::apiserver::crd_structural_test {
namespace {

TEST(Crd, SchemasMustBeStructural) {
  struct Case {
    const char* schema;
    const char* complaint;
  };
  const Case cases[] = {
      {"{'type':'object','properties':{'a':{'x-kubernetes-int-or-string':true,'anyOf':[{'type':'"
       "integer'},"
       "{'type':'string'}]}}}",
       ""},
      {"{'type':'string'}", "s.type: Invalid value: \"string\": must be object at the root"},
      {"{'type':'object','properties':{'a':{}}}",
       "s.properties[a].type: Required value: must not be empty for specified object fields"},
      {"{'type':'object','properties':{'a':{'type':'array'}}}",
       "s.properties[a].items: Required value: must be specified"},
      {"{'type':'object','additionalProperties':{'type':'string'}}",
       "s.additionalProperties: Forbidden: must not be used at the root"},
      {"{'type':'object','properties':{'a':{'type':'text'}}}",
       "s.properties[a].type: Unsupported value: \"text\": supported values: \"array\", "
       "\"boolean\", "
       "\"integer\", \"number\", \"object\", \"string\""},
      {"{'type':'object','properties':{'a':{'type':'object','oneOf':[{'required':['b']}]}}}", ""},
      {"{'type':'object','properties':{'a':{'type':'object','oneOf':[{'properties':{'b':{'minimum':"
       "1}}}]}}}",
       "s.properties[a].properties[b]: Required value: because it is defined in "
       "s.properties[a].oneOf[0].properties[b]"},
      {"{'type':'object','properties':{'a':{'type':'string','anyOf':[{'type':'string'}]}}}",
       "s.properties[a].anyOf[0].type: Forbidden: must be empty to be structural"},
      {"{'type':'object','properties':{'a':{'type':'string','pattern':'('}}}",
       "s.properties[a].pattern"},
      {"{'type':'object','properties':{'a':{'$ref':'#/x','type':'object'}}}",
       "s.properties[a].$ref: Forbidden: $ref is not supported"},
      {"{'type':'object','properties':{'metadata':{'type':'object','properties':{'labels':{'type':'"
       "object'}}}}}",
       "s.properties[metadata]: Forbidden: must not specify anything other than name and "
       "generateName, but "
       "metadata is implicitly specified"},
      {"{'type':'object','properties':{'a':{'type':'array','x-kubernetes-list-type':'map',"
       "'x-kubernetes-list-map-keys':['k'],'items':{'type':'object','properties':{'k':{'type':'"
       "string'}}}}}}",
       "s.properties[a].items.properties[k].default: Required value: this property is in "
       "x-kubernetes-list-map-keys, so it must have a default or be a required property"},
      {"{'type':'object','properties':{'a':{'type':'array','x-kubernetes-list-type':'bag','items':"
       "{'type':'string'}}}}",
       "s.properties[a].x-kubernetes-list-type: Unsupported value: \"bag\": supported values: "
       "\"atomic\", "
       "\"set\", \"map\""},
  };
  for (const Case& each : cases) {
    std::string found = text_of(check_structural(json(each.schema), "s"));
    if (std::string_view(each.complaint).empty()) {
      EXPECT_EQ(found, "") << each.schema;
    } else {
      EXPECT_EQ(found.substr(0, std::string_view(each.complaint).size()), each.complaint)
          << each.schema;
    }
  }
}

}  // namespace
}  // namespace lockstep::apiserver::crd_structural_test
