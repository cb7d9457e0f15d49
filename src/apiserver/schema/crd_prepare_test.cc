#include <gtest/gtest.h>

#include "apiserver/schema/crd.h"
#include "apiserver/schema/crd_test_util.h"

namespace lockstep::apiserver::crd_prepare_test {
namespace {

const BuiltinSchemas& builtin() {
  static const BuiltinSchemas schemas;
  return schemas;
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

}  // namespace
}  // namespace lockstep::apiserver::crd_prepare_test
