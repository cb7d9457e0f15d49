#include "apiserver/crd.h"

#include <gtest/gtest.h>

#include "apiserver/crd_structural.h"
#include "apiserver/testing.h"

namespace lockstep::apiserver {
namespace {

const BuiltinSchemas& builtin() {
  static const BuiltinSchemas schemas;
  return schemas;
}

Json widget_crd(std::string schema = "{'type':'object'}") {
  return json(
      "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition',"
      "'metadata':{'name':'widgets.example.com'},'spec':{'group':'example.com','scope':'Namespaced'"
      ","
      "'names':{'kind':'Widget','plural':'widgets','shortNames':['wd'],'categories':['all']},'"
      "versions':["
      "{'name':'v1','served':true,'storage':true,'schema':{'openAPIV3Schema':" +
      std::move(schema) +
      "},'subresources':{'status':{},'scale':{'specReplicasPath':'.spec.n','statusReplicasPath':'."
      "status.n'}},"
      "'additionalPrinterColumns':[{'name':'Size','type':'integer','jsonPath':'.spec.size','"
      "priority':1}]},"
      "{'name':'v1beta1','served':true,'storage':false,'deprecated':true,'schema':{'"
      "openAPIV3Schema':"
      "{'type':'object','description':'old'}}},"
      "{'name':'v1alpha1','served':false,'storage':false,'schema':{'openAPIV3Schema':{'type':'"
      "object',"
      "'description':'older'}}}]}}");
}

TEST(Crd, PreparingFillsInNames) {
  Json crd = widget_crd();
  EXPECT_EQ(text_of(prepare_crd(crd, builtin())), "");
  EXPECT_EQ(text_at(crd, "spec", "names", "singular"), "widget");
  EXPECT_EQ(text_at(crd, "spec", "names", "listKind"), "WidgetList");
  EXPECT_EQ(text_at(crd, "spec", "conversion", "strategy"), "None");
  EXPECT_EQ(*find(crd, "status", "storedVersions"), json("['v1']"));
}

TEST(Crd, PreparingRefusesWhatTheRealServerRefuses) {
  struct Case {
    const char* path;  // set to the value (null: removed)
    const char* value;
    const char* complaint;
  };
  const Case cases[] = {
      {"metadata.name", "'x.example.com'",
       "metadata.name: Invalid value: \"x.example.com\": must be "
       "spec.names.plural+\".\"+spec.group"},
      {"spec.scope", "'Galactic'",
       "spec.scope: Unsupported value: \"Galactic\": supported values: \"Cluster\", "
       "\"Namespaced\""},
      {"spec.scope", "null", "spec.scope: Required value"},
      {"spec.names.listKind", "'Widget'",
       "spec.names.listKind: Invalid value: \"Widget\": kind and listKind may not be the same"},
      {"spec.conversion", "{'strategy':'Webhook'}",
       "spec.conversion.webhookClientConfig: Required value: required when strategy is set to "
       "Webhook"},
      {"spec.preserveUnknownFields", "true",
       "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
       "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"},
      {"status", "{'storedVersions':['v0','v1']}",
       "status.storedVersions[0]: Invalid value: \"v0\": missing from spec.versions; v0 was "
       "previously a "
       "storage version, and must remain in spec.versions until a storage migration ensures no "
       "data "
       "remains persisted in v0 and removes v0 from status.storedVersions"},
  };
  for (const Case& each : cases) {
    Json crd = widget_crd();
    std::string_view path = each.path;
    JsonObject* parent = &crd.get_object();
    for (size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
      parent = &ensure_object(*parent, path.substr(0, dot));
      path.remove_prefix(dot + 1);
    }
    (*parent)[path] = json(each.value);
    EXPECT_EQ(text_of(prepare_crd(crd, builtin())), each.complaint) << each.path;
  }
}

TEST(Crd, OneStorageVersionAndUniqueNames) {
  Json crd = widget_crd();
  auto second = [&]() -> JsonObject& {
    return find(crd, "spec", "versions")->get_array()[1].get_object();
  };
  second()["storage"] = true;
  EXPECT_NE(text_of(prepare_crd(crd, builtin()))
                .find("must have exactly one version marked as storage version"),
            std::string::npos);
  second()["storage"] = false;
  second()["name"] = "v1";
  EXPECT_NE(text_of(prepare_crd(crd, builtin())).find("must contain unique version names"),
            std::string::npos);
}

TEST(Crd, CommunityGroupsNeedApproval) {
  Json crd = widget_crd();
  crd.get_object()["metadata"].get_object()["name"] = "widgets.gpu.k8s.io";
  crd.get_object()["spec"].get_object()["group"] = "gpu.k8s.io";
  EXPECT_EQ(text_of(prepare_crd(crd, builtin())),
            "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups "
            "must have "
            "approval annotation \"api-approved.kubernetes.io\", see "
            "https://github.com/kubernetes/enhancements/pull/1111");
  crd.get_object()["metadata"].get_object()["annotations"] =
      json("{'api-approved.kubernetes.io':'unapproved, for tests'}");
  EXPECT_EQ(text_of(prepare_crd(crd, builtin())), "");
}

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

TEST(Crd, DefaultsMustFitTheirSchema) {
  Json crd = widget_crd("{'type':'object','properties':{'n':{'type':'integer','default':'x'}}}");
  EXPECT_EQ(
      text_of(prepare_crd(crd, builtin())),
      "spec.versions[0].schema.openAPIV3Schema.properties[n].default: Invalid value: \"string\": "
      "spec.versions[0].schema.openAPIV3Schema.properties[n].default in body must be of type "
      "integer: \"string\"");
}

TEST(Crd, ServedVersionsBecomeResources) {
  Json crd = widget_crd(
      "{'type':'object','properties':{'metadata':{'type':'object','properties':{'name':{'type':'"
      "string',"
      "'maxLength':3}}}}}");
  ASSERT_EQ(text_of(prepare_crd(crd, builtin())), "");
  auto resources = resources_from_crd(crd, builtin());
  ASSERT_EQ(resources.size(), 2U);
  const ResourceInfo& v1 = *resources[0];
  EXPECT_TRUE(v1.custom);
  EXPECT_EQ(v1.type, (ResourceType{"example.com", "v1", "Widget", "widgets", true}));
  EXPECT_EQ(v1.storage, "widgets.example.com");
  EXPECT_TRUE(v1.has("status"));
  EXPECT_EQ(v1.scale.spec_replicas, ".spec.n");
  EXPECT_EQ(v1.columns.size(), 1U);
  EXPECT_EQ(v1.columns[0].json_path, ".spec.size");
  EXPECT_EQ(v1.deprecation_warning, "");
  EXPECT_EQ(resources[1]->columns[0].name, "Age");
  EXPECT_EQ(resources[1]->deprecation_warning, "example.com/v1beta1 Widget is deprecated");
  // A CRD may narrow the name, and nothing is lost of the rest of metadata.
  ASSERT_NE(v1.schema, nullptr);
  EXPECT_EQ(text_of(validate(*v1.schema, json("{'metadata':{'name':'long'}}"))),
            "metadata.name: Too long: may not be more than 3 bytes");
  EXPECT_TRUE(unknown_fields(*v1.schema, json("{'metadata':{'labels':{'a':'b'}}}")).empty());
}

TEST(Crd, VersionsInKubernetesOrder) {
  std::vector<std::string> versions = {"v1alpha1", "v10", "foo",      "v2beta1",
                                       "v1",       "v2",  "v2beta10", "v11beta2"};
  std::sort(versions.begin(), versions.end(), version_before);
  EXPECT_EQ(versions, (std::vector<std::string>{"v10", "v2", "v1", "v11beta2", "v2beta10",
                                                "v2beta1", "v1alpha1", "foo"}));
}

}  // namespace
}  // namespace lockstep::apiserver
