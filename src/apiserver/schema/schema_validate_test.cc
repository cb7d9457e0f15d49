#include <gtest/gtest.h>

#include "apiserver/schema/schema_test_util.h"

namespace lockstep::apiserver::schema_validate_test {
namespace {

TEST_F(SchemaTest, ValidatesInTheWordsOfTheRealServer) {
  const Schema& schema = custom(
      "{'type':'object','required':['spec'],'properties':{'spec':{'type':'object','required':['"
      "mode'],"
      "'properties':{'mode':{'type':'string','enum':['a','b']},'n':{'type':'integer','minimum':1,"
      "'maximum':9,'format':'int32'},'x':{'type':'number','multipleOf':0.5,'minimum':0,'"
      "exclusiveMinimum':true},"
      "'s':{'type':'string','pattern':'^v[0-9]+$','maxLength':4,'minLength':2},'t':{'type':'string'"
      ","
      "'format':'date-time'},'l':{'type':'array','maxItems':2,'minItems':1,'items':{'type':'string'"
      "}},"
      "'set':{'type':'array','x-kubernetes-list-type':'set','items':{'type':'string'}},"
      "'p':{'x-kubernetes-int-or-string':true},'m':{'type':'object','maxProperties':1,"
      "'additionalProperties':{'type':'boolean'}}}}}}");
  struct Case {
    const char* object;
    const char* complaints;
  };
  const Case cases[] = {
      {"{'spec':{'mode':'a','n':3,'x':1.5,'s':'v12','t':'2026-01-02T03:04:05Z','l':['q'],'p':'25%',"
       "'m':{'k':true}}}",
       ""},
      {"{'spec':{'mode':'b','p':3,'n':4.0}}", ""},
      {"{}", "spec: Required value"},
      {"{'spec':{}}", "spec.mode: Required value"},
      {"{'spec':{'mode':'c'}}",
       "spec.mode: Unsupported value: \"c\": supported values: \"a\", \"b\""},
      {"{'spec':{'mode':'a','n':'3'}}",
       "spec.n: Invalid value: \"string\": spec.n in body must be of type integer: \"string\""},
      {"{'spec':{'mode':'a','n':0}}",
       "spec.n: Invalid value: 0: spec.n in body should be greater than or equal to 1"},
      {"{'spec':{'mode':'a','n':10}}",
       "spec.n: Invalid value: 10: spec.n in body should be less than or equal to 9"},
      {"{'spec':{'mode':'a','x':0}}",
       "spec.x: Invalid value: 0: spec.x in body should be greater than 0"},
      {"{'spec':{'mode':'a','x':0.7}}",
       "spec.x: Invalid value: 0.7: spec.x in body should be a multiple of 0.5"},
      {"{'spec':{'mode':'a','s':'x1'}}",
       "spec.s: Invalid value: \"x1\": spec.s in body should match '^v[0-9]+$'"},
      {"{'spec':{'mode':'a','s':'v1234'}}", "spec.s: Too long: may not be more than 4 bytes"},
      {"{'spec':{'mode':'a','t':'yesterday'}}",
       "spec.t: Invalid value: \"yesterday\": spec.t in body must be of type date-time: "
       "\"yesterday\""},
      {"{'spec':{'mode':'a','l':[]}}",
       "spec.l: Invalid value: []: spec.l in body should have at least 1 items"},
      {"{'spec':{'mode':'a','l':['a','b','c']}}", "spec.l: Too many: 3: must have at most 2 items"},
      {"{'spec':{'mode':'a','l':[1]}}",
       "spec.l[0]: Invalid value: \"integer\": spec.l[0] in body must be of type string: "
       "\"integer\""},
      {"{'spec':{'mode':'a','set':['a','b','a']}}", "spec.set[2]: Duplicate value: \"a\""},
      {"{'spec':{'mode':'a','p':true}}",
       "spec.p: Invalid value: \"boolean\": spec.p in body must be of type integer,string: "
       "\"boolean\""},
      {"{'spec':{'mode':'a','m':{'k':1}}}",
       "spec.m.k: Invalid value: \"integer\": spec.m.k in body must be of type boolean: "
       "\"integer\""},
      {"{'spec':{'mode':null}}",
       "spec.mode: Invalid value: \"null\": spec.mode in body must be of type string: \"null\""},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(text_of(validate(schema, json(each.object))), each.complaints) << each.object;
  }
}

TEST_F(SchemaTest, ValidatesCombinations) {
  const Schema& schema = custom(
      "{'type':'object','properties':{'spec':{'type':'object','properties':{'a':{'type':'string'},"
      "'b':{'type':'string'},'c':{'type':'integer'}},'oneOf':[{'required':['a']},{'required':['b']}"
      "],"
      "'not':{'properties':{'a':{'enum':['bad']}},'required':['a']},"
      "'anyOf':[{'properties':{'c':{'minimum':1}}},{'properties':{'c':{'maximum':-1}}}]}}}");
  EXPECT_EQ(text_of(validate(schema, json("{'spec':{'a':'x','c':5}}"))), "");
  EXPECT_EQ(text_of(validate(schema, json("{'spec':{'a':'bad'}}"))),
            "<nil>: Invalid value: \"\": \"spec\" must not validate the schema (not)");
  EXPECT_EQ(
      text_of(validate(schema, json("{'spec':{'a':'x','b':'y'}}"))),
      "<nil>: Invalid value: \"\": \"spec\" must validate one and only one schema (oneOf). Found 2 "
      "valid alternatives");
  EXPECT_EQ(text_of(validate(schema, json("{'spec':{}}"))),
            "<nil>: Invalid value: \"\": \"spec\" must validate one and only one schema (oneOf). "
            "Found none "
            "valid\nspec.a: Required value");
  EXPECT_EQ(text_of(validate(schema, json("{'spec':{'a':'x','c':0}}"))),
            "<nil>: Invalid value: \"\": \"spec\" must validate at least one schema (anyOf)\n"
            "spec.c: Invalid value: 0: spec.c in body should be greater than or equal to 1");
}

TEST_F(SchemaTest, ListMapsHoldEachKeyOnce) {
  const Schema& schema = custom(
      "{'type':'object','properties':{'l':{'type':'array','x-kubernetes-list-type':'map',"
      "'x-kubernetes-list-map-keys':['name'],'items':{'type':'object','required':['name'],"
      "'properties':{'name':{'type':'string'},'v':{'type':'integer'}}}}}}");
  EXPECT_EQ(text_of(validate(schema, json("{'l':[{'name':'a','v':1},{'name':'a','v':2}]}"))),
            "l[1]: Duplicate value: {\"name\":\"a\"}");
  EXPECT_EQ(text_of(validate(schema, json("{'l':[{'name':'a'},{'name':'b'}]}"))), "");
}

}  // namespace
}  // namespace lockstep::apiserver::schema_validate_test
