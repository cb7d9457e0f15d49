#include <gtest/gtest.h>

#include "apiserver/kinds/rules_test_util.h"

namespace lockstep::apiserver::rules_others_test {
namespace {

TEST_F(BuiltinRulesTest, Others) {
  const RuleCase cases[] = {
      {"PodDisruptionBudget", "{'spec':{'minAvailable':1}}", ""},
      {"PodDisruptionBudget", "{'spec':{'minAvailable':1,'maxUnavailable':1}}",
       "spec: Invalid value: {\"minAvailable\":1,\"maxUnavailable\":1}: minAvailable and "
       "maxUnavailable cannot "
       "be both set"},
      {"PodDisruptionBudget", "{'spec':{'minAvailable':'120%'}}",
       "spec.minAvailable: Invalid value: \"120%\": must not be greater than 100%"},
      {"PodDisruptionBudget", "{'spec':{'minAvailable':-1}}",
       "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"},
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
      {"Service", "{'spec':{'ports':[{'port':80}]}}", ""},
      {"Service", "{'spec':{}}", "spec.ports: Required value"},
      {"Service", "{'spec':{'clusterIP':'None'}}", ""},
      {"Service", "{'spec':{'ports':[{'port':80},{'port':81,'name':'b'}]}}",
       "spec.ports[0].name: Required value"},
      {"Lease", "{'spec':{'leaseDurationSeconds':0}}",
       "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"},
      {"ConfigMap", "{'data':{'a':'b'},'binaryData':{'a':'Yg=='}}",
       "data[a]: Invalid value: \"a\": duplicate of key present in binaryData"},
      {"Secret", "{'type':'kubernetes.io/tls','stringData':{'tls.crt':'x'}}",
       "data[tls.key]: Required value"},
      {"Event", "{'involvedObject':{'namespace':'other'}}",
       "involvedObject.namespace: Invalid value: \"other\": does not match event.namespace"},
      {"Event", "{'involvedObject':{'kind':'Node','name':'n'}}", ""},
      {"ResourceClaim",
       "{'spec':{'devices':{'requests':[{'name':'g','exactly':{'deviceClassName':'gpu'}}]}}}", ""},
      {"ResourceClaim", "{'spec':{'devices':{'requests':[{'name':'g','exactly':{}}]}}}",
       "spec.devices.requests[0].exactly.deviceClassName: Required value"},
  };
  for (const RuleCase& each : cases)
    EXPECT_EQ(check(each.kind, each.object), each.complaints) << each.object;
  EXPECT_EQ(check_change("ConfigMap", "{'immutable':true,'data':{'a':'b'}}",
                         "{'immutable':true,'data':{'a':'c'}}"),
            "data: Forbidden: field is immutable when `immutable` is set");
  EXPECT_EQ(check_change("Node", "{'spec':{'providerID':'a'}}", "{'spec':{'providerID':'b'}}"),
            "spec.providerID: Forbidden: node updates may not change providerID except from \"\" "
            "to valid");
}

}  // namespace
}  // namespace lockstep::apiserver::rules_others_test
