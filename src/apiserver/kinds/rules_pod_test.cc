#include <gtest/gtest.h>

#include "apiserver/kinds/rules_test_util.h"

namespace lockstep::apiserver::rules_pod_test {
namespace {

TEST_F(BuiltinRulesTest, Pods) {
  const RuleCase cases[] = {
      {"Pod", "{'spec':{'containers':[{'name':'c','image':'i'}]}}", ""},
      {"Pod", "{'spec':{}}", "spec.containers: Required value"},
      {"Pod", "{'spec':{'containers':[{'image':'i'}]}}", "spec.containers[0].name: Required value"},
      {"Pod", "{'spec':{'containers':[{'name':'c'}]}}", "spec.containers[0].image: Required value"},
      {"Pod", "{'spec':{'containers':[{'name':'c','image':'i'},{'name':'c','image':'i'}]}}",
       "spec.containers[1].name: Duplicate value: \"c\""},
      {"Pod", "{'spec':{'restartPolicy':'Sometimes','containers':[{'name':'c','image':'i'}]}}",
       "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", "
       "\"OnFailure\", "
       "\"Never\""},
      {"Pod",
       "{'spec':{'containers':[{'name':'c','image':'i','ports':[{'containerPort':70000}]}]}}",
       "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and "
       "65535, "
       "inclusive"},
      {"Pod",
       "{'spec':{'containers':[{'name':'c','image':'i','volumeMounts':[{'name':'v','mountPath':'/"
       "v'}]}]}}",
       "spec.containers[0].volumeMounts[0].name: Not found: \"v\""},
      {"Pod",
       "{'spec':{'volumes':[{'name':'v'}],'containers':[{'name':'c','image':'i','volumeMounts':[{'"
       "name':'v',"
       "'mountPath':'/v'}]}]}}",
       ""},
      {"Pod",
       "{'spec':{'containers':[{'name':'c','image':'i','resources':{'limits':{'nvidia.com/"
       "gpu':'8'}}}]}}",
       ""},
      {"Pod",
       "{'spec':{'containers':[{'name':'c','image':'i','resources':{'requests':{'nvidia.com/"
       "gpu':'8'}}}]}}",
       "spec.containers[0].resources.limits: Required value: Limit must be set for non "
       "overcommitable resources"},
      {"Pod",
       "{'spec':{'containers':[{'name':'c','image':'i','resources':{'limits':{'nvidia.com/"
       "gpu':'500m'}}}]}}",
       "spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: \"500m\": must be an "
       "integer\nspec.containers[0].resources.requests[nvidia.com/gpu]: Invalid value: \"500m\": "
       "must be an "
       "integer"},
      {"Pod",
       "{'spec':{'containers':[{'name':'c','image':'i','resources':{'limits':{'cpu':'1'},'requests'"
       ":{'cpu':"
       "'2'}}}]}}",
       "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to "
       "cpu limit "
       "of 1"},
      {"Pod",
       "{'spec':{'tolerations':[{'operator':'Exists'}],'containers':[{'name':'c','image':'i'}]}}",
       ""},
      {"Pod",
       "{'spec':{'tolerations':[{'operator':'Equal'}],'containers':[{'name':'c','image':'i'}]}}",
       "spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` "
       "is empty, "
       "which means \"match all values and all keys\""},
      {"Pod", "{'spec':{'resourceClaims':[{'name':'g'}],'containers':[{'name':'c','image':'i'}]}}",
       "spec.resourceClaims[0]: Invalid value: {\"name\":\"g\"}: must specify one of: "
       "`resourceClaimName`, "
       "`resourceClaimTemplateName`"},
  };
  for (const RuleCase& each : cases)
    EXPECT_EQ(check(each.kind, each.object), each.complaints) << each.object;
}

TEST_F(BuiltinRulesTest, PodsChangeLittle) {
  const std::string before = "{'spec':{'nodeName':'a','containers':[{'name':'c','image':'i'}]}}";
  EXPECT_EQ(check_change("Pod", before, before), "");
  EXPECT_EQ(check_change("Pod", before,
                         "{'spec':{'nodeName':'a','containers':[{'name':'c','image':'j:1',"
                         "'imagePullPolicy':'Always'}]}}"),
            "");
  EXPECT_EQ(check_change("Pod", before,
                         "{'spec':{'nodeName':'a','tolerations':[{'operator':'Exists'}],"
                         "'containers':[{'name':'c','image':'i'}]}}"),
            "");
  std::string moved = check_change(
      "Pod", before, "{'spec':{'nodeName':'b','containers':[{'name':'c','image':'i'}]}}");
  EXPECT_EQ(moved.substr(0, 76),
            "spec: Forbidden: pod updates may not change fields other than `spec.containe");
  EXPECT_EQ(check_change("Pod", before, "{'spec':{'nodeName':'a','containers':[]}}"),
            "spec.containers: Required value\nspec.containers: Forbidden: pod updates may not add "
            "or remove "
            "containers");
  EXPECT_EQ(
      check_change("Pod", before,
                   "{'metadata':{'uid':'u2'},'spec':{'nodeName':'a','containers':[{'name':'c',"
                   "'image':'i'}]}}"),
      "metadata.uid: Invalid value: \"u2\": field is immutable");
}

}  // namespace
}  // namespace lockstep::apiserver::rules_pod_test
