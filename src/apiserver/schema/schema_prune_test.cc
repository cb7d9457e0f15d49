#include <gtest/gtest.h>

#include "apiserver/schema/schema_test_util.h"

namespace lockstep::apiserver::schema_prune_test {
namespace {

TEST_F(SchemaTest, FindsAndPrunesUnknownFields) {
  Json object = json(
      "{'apiVersion':'v1','kind':'Pod','foo':1,'metadata':{'name':'a','labels':{'x':'y'},'bad':"
      "null},"
      "'spec':{'containers':[{'name':'c'},{'name':'d','immage':'i','env':[{'nam':'v'}]}],"
      "'nodeSelector':{'a.b/c':'d'},'hostname':null}}");
  EXPECT_EQ(unknown_fields(pod(), object),
            (std::vector<std::string>{"foo", "metadata.bad", "spec.containers[1].immage",
                                      "spec.containers[1].env[0].nam"}));
  prune(pod(), object);
  EXPECT_EQ(object,
            json("{'apiVersion':'v1','kind':'Pod','metadata':{'name':'a','labels':{'x':'y'}},"
                 "'spec':{'containers':[{'name':'c'},{'name':'d','env':[{}]}],"
                 "'nodeSelector':{'a.b/c':'d'}}}"));
}

TEST_F(SchemaTest, KeepsWhatTheSchemaPreserves) {
  const Schema& schema = custom(
      "{'type':'object','properties':{'spec':{'type':'object',"
      "'x-kubernetes-preserve-unknown-fields':true,'properties':{'known':{'type':'object'}}},"
      "'map':{'type':'object','additionalProperties':{'type':'object','properties':{'a':{'type':'"
      "string'}}}},"
      "'pod':{'type':'object','x-kubernetes-embedded-resource':true,'properties':{'spec':{'type':'"
      "object'}}}}}");
  Json object = json(
      "{'apiVersion':'a/v1','kind':'K','metadata':{'name':'n','nope':1},'spec':{'free':{'x':1},"
      "'known':{'gone':1}},'map':{'k':{'a':'b','c':1}},'pod':{'apiVersion':'v1','kind':'Pod',"
      "'metadata':{'name':'x'},'extra':1},'status':{}}");
  EXPECT_EQ(unknown_fields(schema, object),
            (std::vector<std::string>{"metadata.nope", "spec.known.gone", "map.k.c", "pod.extra",
                                      "status"}));
  prune(schema, object);
  EXPECT_EQ(object,
            json("{'apiVersion':'a/v1','kind':'K','metadata':{'name':'n'},'spec':{'free':{'x':1},"
                 "'known':{}},'map':{'k':{'a':'b'}},'pod':{'apiVersion':'v1','kind':'Pod',"
                 "'metadata':{'name':'x'}}}"));
}

TEST_F(SchemaTest, WhatAWriteDidNotTouchIsNotLookedAtAgain) {
  const char* text =
      "{'metadata':{'bad':1},'spec':{'bad':1},'status':{'bad':1,'conditions':[{'spec':1}]}}";
  Json object = json(text);
  JsonObject patch = json("{'status':{'conditions':[]}}").as_object();
  TouchedFields touched = TouchedFields::by(patch);
  EXPECT_EQ(unknown_fields(pod(), object, touched),
            (std::vector<std::string>{"status.conditions[0].spec"}));
  prune(pod(), object, touched);
  EXPECT_EQ(object, json("{'metadata':{'bad':1},'spec':{'bad':1},"
                         "'status':{'bad':1,'conditions':[{}]}}"));
  JsonObject wider = json("{'status':{'bad':2},'metadata':{'bad':3}}").as_object();
  prune(pod(), object, TouchedFields::by(wider));
  EXPECT_EQ(object, json("{'metadata':{},'spec':{'bad':1},'status':{'conditions':[{}]}}"));
}

TEST_F(SchemaTest, OneWalkSaysWhetherThereIsAnythingToPrune) {
  for (const char* clean :
       {"{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c'}]}}",
        "{'spec':{'containers':[]}}"}) {
    EXPECT_TRUE(review_fields(pod(), json(clean)).is_pruned) << clean;
  }
  for (const char* dirty :
       {"{'foo':1}", "{'spec':{'hostname':null}}", "{'metadata':{'labels':{'a':null}}}",
        "{'spec':{'containers':[{'name':'c','bad':1}]}}"}) {
    Json object = json(dirty);
    EXPECT_FALSE(review_fields(pod(), object).is_pruned) << dirty;
    prune(pod(), object);
    EXPECT_TRUE(review_fields(pod(), object).is_pruned) << dirty;
  }
}

}  // namespace
}  // namespace lockstep::apiserver::schema_prune_test
