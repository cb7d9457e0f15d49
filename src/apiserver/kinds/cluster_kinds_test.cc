#include <gtest/gtest.h>

#include "apiserver/kinds/rules_test_util.h"

namespace lockstep::apiserver::cluster_kinds_test {
namespace {

TEST_F(BuiltinRulesTest, KindsOfTheCluster) {
  const RuleCase cases[] = {
      {"Node",
       "{'spec':{'taints':[{'key':'a','effect':'NoSchedule'},{'key':'a','effect':'NoExecute'}]}}",
       ""},
      {"Node", "{'spec':{'taints':[{'key':'a','effect':'Never'}]}}",
       "metadata.taints[0].effect: Unsupported value: \"Never\": supported values: \"NoSchedule\", "
       "\"PreferNoSchedule\", \"NoExecute\""},
      {"Node",
       "{'spec':{'taints':[{'key':'a','effect':'NoSchedule'},{'key':'a','effect':'NoSchedule'}]}}",
       "metadata.taints[1]: Duplicate value: {\"key\":\"a\",\"effect\":\"NoSchedule\"}: taints "
       "must be unique "
       "by key and effect pair"},
      {"Lease", "{'spec':{'leaseDurationSeconds':0}}",
       "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"},
      {"Event", "{'involvedObject':{'namespace':'other'}}",
       "involvedObject.namespace: Invalid value: \"other\": does not match event.namespace"},
      {"Event", "{'involvedObject':{'kind':'Node','name':'n'}}", ""},
  };
  for (const RuleCase& each : cases)
    EXPECT_EQ(check(each.kind, each.object), each.complaints) << each.object;
  EXPECT_EQ(check_change("Node", "{'spec':{'providerID':'a'}}", "{'spec':{'providerID':'b'}}"),
            "spec.providerID: Forbidden: node updates may not change providerID except from \"\" "
            "to valid");
}

TEST_F(BuiltinRulesTest, TheContentsOfANamespaceGoBeforeIt) {
  const Kind& namespaces = kind_of(info("Namespace"));
  Json object = json("{'metadata':{'name':'a'}}");
  namespaces.begin(object.as_object());
  EXPECT_FALSE(namespaces.may_vanish(object));
  namespaces.mark_deleted(object.as_object());
  EXPECT_EQ(text_at(object, "status", "phase"), "Terminating");
  object.as_object()["spec"] = JsonObject();
  EXPECT_TRUE(namespaces.may_vanish(object));
  EXPECT_NE(namespaces.refuse_deletion("kube-system"), "");
  EXPECT_EQ(namespaces.refuse_deletion("kubes"), "");
}

}  // namespace
}  // namespace lockstep::apiserver::cluster_kinds_test
