#include <gtest/gtest.h>

#include "apiserver/schema/schema_test_util.h"

namespace lockstep::apiserver::schema_decode_test {
namespace {

TEST_F(SchemaTest, DecodesBuiltInTypesAsGoDoes) {
  struct Case {
    const char* object;
    const char* error;
  };
  const Case cases[] = {
      {"{'metadata':{'creationTimestamp':null,'name':'a'},'spec':{'minReadySeconds':3}}", ""},
      {"{'spec':{'minReadySeconds':'3'}}",
       "json: cannot unmarshal string into Go struct field DaemonSetSpec.spec.minReadySeconds of "
       "type int32"},
      {"{'spec':{'minReadySeconds':3000000000}}",
       "json: cannot unmarshal number 3000000000 into Go struct field "
       "DaemonSetSpec.spec.minReadySeconds of "
       "type int32"},
      {"{'metadata':{'labels':{'a':1}}}",
       "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type "
       "string"},
      {"{'spec':{'template':{'spec':{'containers':{}}}}}",
       "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers "
       "of type "
       "[]v1.Container"},
      {"{'spec':{'template':{'spec':{'containers':[{'env':[{'name':'A','value':1}]}]}}}}",
       "json: cannot unmarshal number into Go struct field "
       "EnvVar.spec.template.spec.containers.env.value of type string"},
      {"{'spec':{'template':{'spec':{'containers':[{'resources':{'limits':{'cpu':'2x'}}}]}}}}",
       "quantities must match the regular expression "
       "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
      {"{'spec':{'template':{'spec':{'containers':[{'resources':{'limits':{'cpu':2,'memory':'1.5Gi'"
       "}}}]}}}}",
       ""},
      {"{'spec':{'updateStrategy':{'rollingUpdate':{'maxUnavailable':'10%'}}}}", ""},
      {"{'spec':{'updateStrategy':{'rollingUpdate':{'maxUnavailable':true}}}}",
       "json: cannot unmarshal bool into Go value of type int32"},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(decode_error(daemon_set(), json(each.object)).value_or(""), each.error)
        << each.object;
  }
  EXPECT_EQ(
      decode_error(*builtin().of("", "v1", "Secret"), json("{'data':{'a':'%%'}}")).value_or(""),
      "illegal base64 data at input byte 0");
}

TEST_F(SchemaTest, WhatAWriteDidNotTouchIsNotDecodedAgain) {
  Json object = json(
      "{'spec':{'hostname':1},'status':{'spec':{},'phase':'Running','reason':1},"
      "'metadata':{'labels':{'a':1,'b':'c'},'name':2}}");
  JsonObject patch =
      json("{'status':{'phase':'Running'},'metadata':{'labels':{'b':'c'}}}").as_object();
  EXPECT_EQ(decode_error(pod(), object, TouchedFields::by(patch)), std::nullopt);
  object.as_object()["status"].as_object()["phase"] = 1;
  EXPECT_EQ(decode_error(pod(), object, TouchedFields::by(patch)).value_or(""),
            "json: cannot unmarshal number into Go struct field PodStatus.status.phase of type "
            "string");
  EXPECT_NE(decode_error(pod(), object).value_or("").find("spec.hostname"), std::string::npos);
  JsonObject of_label = json("{'metadata':{'labels':{'a':'x'}}}").as_object();
  EXPECT_NE(decode_error(pod(), object, TouchedFields::by(of_label)).value_or("").find("labels"),
            std::string::npos);
}

// A list may have been merged with others: all of it is checked.
TEST_F(SchemaTest, ATouchedListIsDecodedWhole) {
  Json object = json("{'status':{'conditions':[{'type':'A'},{'type':1}]}}");
  JsonObject patch = json("{'status':{'conditions':[{'type':'A'}]}}").as_object();
  EXPECT_NE(decode_error(pod(), object, TouchedFields::by(patch)), std::nullopt);
}

}  // namespace
}  // namespace lockstep::apiserver::schema_decode_test
