#include <gtest/gtest.h>

#include "apiserver/kinds/rules_test_util.h"

namespace lockstep::apiserver::rules_metadata_test {
namespace {

TEST_F(BuiltinRulesTest, Metadata) {
  const RuleCase cases[] = {
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
  for (const RuleCase& each : cases)
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

}  // namespace
}  // namespace lockstep::apiserver::rules_metadata_test
