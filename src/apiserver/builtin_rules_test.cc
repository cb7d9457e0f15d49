#include "apiserver/builtin_rules.h"

#include <gtest/gtest.h>

#include "apiserver/testing.h"

namespace lockstep::apiserver {
namespace {

class BuiltinRulesTest : public testing::Test {
 protected:
  const ResourceInfo& info(std::string_view kind) const {
    for (const ResourceInfo* each : table_.all()) {
      if (each->type.kind == kind) return *each;
    }
    ADD_FAILURE() << "no kind " << kind;
    return *table_.all().front();
  }

  // The object with a name and, where it needs one, a namespace; with defaults.
  Json object(std::string_view kind, std::string text) const {
    Json result = json(std::move(text));
    JsonObject& metadata = ensure_object(result.get_object(), "metadata");
    if (!metadata.contains("name")) metadata["name"] = "x";
    if (info(kind).type.namespaced && !metadata.contains("namespace"))
      metadata["namespace"] = "default";
    if (!metadata.contains("uid")) metadata["uid"] = "u1";
    default_builtin(info(kind), result);
    return result;
  }

  std::string check(std::string_view kind, std::string text) const {
    return text_of(validate_builtin(info(kind), object(kind, std::move(text)), nullptr));
  }

  std::string check_change(std::string_view kind, std::string before, std::string after) const {
    Json old = object(kind, std::move(before));
    return text_of(validate_builtin(info(kind), object(kind, std::move(after)), &old));
  }

  BuiltinSchemas schemas_;
  ResourceTable table_{schemas_};
};

struct Case {
  const char* kind;
  const char* object;
  const char* complaints;
};

TEST_F(BuiltinRulesTest, Metadata) {
  const Case cases[] = {
      {"ConfigMap", "{}", ""},
      {"ConfigMap", "{'metadata':{'name':'a.b-c'}}", ""},
      {"ConfigMap", "{'metadata':{'name':''}}",
       "metadata.name: Required value: name or generateName is required"},
      {"ConfigMap", "{'metadata':{'namespace':''}}", "metadata.namespace: Required value"},
      {"Node", "{'metadata':{'namespace':'a'}}",
       "metadata.namespace: Forbidden: not allowed on this type"},
      {"Namespace", "{'metadata':{'name':'kube-system'}}", ""},
      {"ClusterRole", "{'metadata':{'name':'system:node'}}", ""},
      {"ConfigMap", "{'metadata':{'generateName':'a-'}}", ""},
      {"ConfigMap", "{'metadata':{'annotations':{'example.com/A':'anything goes: {}'}}}", ""},
      {"ConfigMap",
       "{'metadata':{'ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'p','uid':''}]}}",
       "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty"},
      {"ConfigMap", "{'metadata':{'finalizers':['orphan','foregroundDeletion']}}",
       "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan "
       "and "
       "foregroundDeletion cannot be both set"},
  };
  for (const Case& each : cases)
    EXPECT_EQ(check(each.kind, each.object), each.complaints) << each.object;
}

TEST_F(BuiltinRulesTest, NamesAndLabelsComplainInKubernetesWords) {
  EXPECT_EQ(check("ConfigMap", "{'metadata':{'name':'Bad_Name'}}").substr(0, 70),
            "metadata.name: Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdoma");
  EXPECT_EQ(check("Namespace", "{'metadata':{'name':'a.b'}}"),
            "metadata.name: Invalid value: \"a.b\": must not contain dots");
  EXPECT_EQ(check("ConfigMap", "{'metadata':{'labels':{'a':'b c'}}}").substr(0, 58),
            "metadata.labels: Invalid value: \"b c\": a valid label must ");
  EXPECT_EQ(
      check("ConfigMap", "{'metadata':{'annotations':{'a':'" + std::string(262144, 'x') + "'}}}"),
      "metadata.annotations: Too long: may not be more than 262144 bytes");
}

TEST_F(BuiltinRulesTest, OneControllerOnly) {
  std::string found = check(
      "ConfigMap",
      "{'metadata':{'ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'p','uid':'1','"
      "controller':true},"
      "{'apiVersion':'apps/v1','kind':'DaemonSet','name':'d','uid':'2','controller':true}]}}");
  EXPECT_NE(
      found.find(
          "Only one reference can have Controller set to true. Found \"true\" in references for "
          "Pod/p and DaemonSet/d"),
      std::string::npos)
      << found;
}

TEST_F(BuiltinRulesTest, Pods) {
  const Case cases[] = {
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
  for (const Case& each : cases)
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

const std::string pod_template =
    "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c','image':'i'}]}}";

TEST_F(BuiltinRulesTest, Workloads) {
  const std::string selector = "'selector':{'matchLabels':{'a':'b'}}";
  EXPECT_EQ(check("DaemonSet", "{'spec':{" + selector + "," + pod_template + "}}"), "");
  EXPECT_EQ(check("DaemonSet", "{'spec':{" + pod_template + "}}"), "spec.selector: Required value");
  EXPECT_EQ(check("DaemonSet", "{'spec':{'selector':{}," + pod_template + "}}"),
            "spec.selector: Invalid value: {}: empty selector is invalid for daemonset");
  EXPECT_EQ(
      check("DaemonSet", "{'spec':{'selector':{'matchLabels':{'a':'z'}}," + pod_template + "}}"),
      "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match "
      "template "
      "`labels`");
  EXPECT_EQ(check("DaemonSet", "{'spec':{'updateStrategy':{'type':'OnDelete'}," + selector + "," +
                                   pod_template + "}}"),
            "");
  EXPECT_EQ(check("DaemonSet", "{'spec':{'updateStrategy':{'type':'Never'}," + selector + "," +
                                   pod_template + "}}"),
            "spec.updateStrategy: Unsupported value: {\"type\":\"Never\"}: supported values: "
            "\"RollingUpdate\", \"OnDelete\"");
  EXPECT_EQ(check("DaemonSet", "{'spec':{'updateStrategy':{'rollingUpdate':{'maxUnavailable':0}}," +
                                   selector + "," + pod_template + "}}"),
            "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when "
            "maxSurge is 0");
  EXPECT_EQ(check("Deployment", "{'spec':{'replicas':-1," + selector + "," + pod_template + "}}"),
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0");
  EXPECT_EQ(check("Deployment", "{'spec':{'strategy':{'type':'Recreate','rollingUpdate':{}}," +
                                    selector + "," + pod_template + "}}"),
            "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is "
            "'Recreate'");
  EXPECT_EQ(
      check("Job", "{'spec':{" + pod_template + "}}"),
      "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"");
  std::string changed =
      check_change("DaemonSet", "{'spec':{" + selector + "," + pod_template + "}}",
                   "{'spec':{'selector':{'matchExpressions':[{'key':'a','operator':'Exists'}]}," +
                       pod_template + "}}");
  EXPECT_NE(changed.find("field is immutable"), std::string::npos) << changed;
}

TEST_F(BuiltinRulesTest, Others) {
  const Case cases[] = {
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
  for (const Case& each : cases)
    EXPECT_EQ(check(each.kind, each.object), each.complaints) << each.object;
  EXPECT_EQ(check_change("ConfigMap", "{'immutable':true,'data':{'a':'b'}}",
                         "{'immutable':true,'data':{'a':'c'}}"),
            "data: Forbidden: field is immutable when `immutable` is set");
  EXPECT_EQ(check_change("Node", "{'spec':{'providerID':'a'}}", "{'spec':{'providerID':'b'}}"),
            "spec.providerID: Forbidden: node updates may not change providerID except from \"\" "
            "to valid");
}

}  // namespace
}  // namespace lockstep::apiserver
