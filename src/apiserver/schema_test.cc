#include "apiserver/schema.h"

#include <gtest/gtest.h>

#include "apiserver/testing.h"

namespace lockstep::apiserver {
namespace {

class SchemaTest : public testing::Test {
 protected:
  static const BuiltinSchemas& builtin() {
    static const BuiltinSchemas schemas;
    return schemas;
  }
  static const Schema& pod() { return *builtin().of("", "v1", "Pod"); }
  static const Schema& daemon_set() { return *builtin().of("apps", "v1", "DaemonSet"); }

  const Schema& custom(std::string text) {
    auto schema =
        schema_from_crd(json(std::move(text)), set_,
                        builtin().find("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"), "s");
    if (!schema) ADD_FAILURE() << text_of(schema.error());
    return **schema;
  }

 private:
  SchemaSet set_;
};

TEST_F(SchemaTest, TableHasTheFactsOfTheTypes) {
  const Schema* port = builtin().find("io.k8s.api.core.v1.ContainerPort");
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(port->required, std::vector<std::string>{"containerPort"});
  EXPECT_EQ(*port->field("protocol")->default_value, Json("TCP"));
  const Schema* spec = builtin().find("io.k8s.api.core.v1.PodSpec");
  const Schema* containers = spec->field("containers");
  EXPECT_EQ(containers->list_kind, Schema::ListKind::map);
  EXPECT_EQ(containers->list_keys, std::vector<std::string>{"name"});
  EXPECT_EQ(containers->items, builtin().find("io.k8s.api.core.v1.Container"));
  EXPECT_EQ(spec->field("nosuch"), nullptr);
  EXPECT_TRUE(builtin().find("io.k8s.api.core.v1.LocalObjectReference")->atomic);
  EXPECT_EQ(builtin().of("", "v1", "Nosuch"), nullptr);
  EXPECT_EQ(
      builtin().describe_field(*builtin().find("io.k8s.api.core.v1.NodeSpec"), "unschedulable"),
      "True when no new pods may be scheduled here: the node is cordoned.");
  EXPECT_GT(builtin().all().size(), 350U);
}

TEST_F(SchemaTest, StrategicMergeKeysByPath) {
  struct Case {
    const char* path;
    ListMerge::Kind kind;
    const char* key;
    bool retain_keys;
  };
  const Case cases[] = {
      {"spec.template.spec.containers", ListMerge::Kind::by_key, "name", false},
      {"spec.template.spec.containers.env", ListMerge::Kind::by_key, "name", false},
      {"spec.template.spec.containers.ports", ListMerge::Kind::by_key, "containerPort", false},
      {"spec.template.spec.volumes", ListMerge::Kind::by_key, "name", true},
      {"spec.template.spec.tolerations", ListMerge::Kind::atomic, "", false},
      {"metadata.finalizers", ListMerge::Kind::set, "", false},
      {"metadata.ownerReferences", ListMerge::Kind::by_key, "uid", false},
      {"metadata.labels.app", ListMerge::Kind::atomic, "", false},
      {"no.such.path", ListMerge::Kind::atomic, "", false},
      {"", ListMerge::Kind::atomic, "", false},
  };
  SchemaMerge merge(&daemon_set());
  for (const Case& each : cases) {
    ListMerge found = merge.at(each.path);
    EXPECT_EQ(found.kind, each.kind) << each.path;
    EXPECT_EQ(found.key, each.key) << each.path;
    EXPECT_EQ(found.retain_keys, each.retain_keys) << each.path;
  }
  EXPECT_TRUE(
      SchemaMerge(builtin().of("apps", "v1", "Deployment")).at("spec.strategy").retain_keys);
  EXPECT_EQ(SchemaMerge(nullptr).at("spec").kind, ListMerge::Kind::atomic);
}

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

TEST_F(SchemaTest, FillsInDefaultsAlsoNestedOnes) {
  const Schema& schema = custom(
      "{'type':'object','properties':{'spec':{'type':'object','default':{},'properties':{"
      "'replicas':{'type':'integer','default':2},'nothing':{'type':'string'},"
      "'maybe':{'type':'string','nullable':true,'default':'x'},"
      "'list':{'type':'array','items':{'type':'object','properties':{'port':{'type':'integer','"
      "default':80}}}}}}}}");
  struct Case {
    const char* before;
    const char* after;
  };
  const Case cases[] = {
      {"{}", "{'spec':{'replicas':2,'maybe':'x'}}"},
      {"{'spec':{'replicas':null,'nothing':null,'maybe':null}}",
       "{'spec':{'replicas':2,'maybe':null}}"},
      {"{'spec':{'replicas':5,'maybe':'','list':[{},{'port':1}]}}",
       "{'spec':{'replicas':5,'maybe':'','list':[{'port':80},{'port':1}]}}"},
      {"{'spec':'wrong'}", "{'spec':'wrong'}"},
  };
  for (const Case& each : cases) {
    Json object = json(each.before);
    apply_defaults(schema, object);
    EXPECT_TRUE(json_equal(object, json(each.after))) << print_json(object);
  }
}

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

}  // namespace
}  // namespace lockstep::apiserver
