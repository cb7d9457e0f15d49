#include <gtest/gtest.h>

#include "apiserver/kinds/rules_test_util.h"

namespace lockstep::apiserver::workload_kinds_test {
namespace {

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

}  // namespace
}  // namespace lockstep::apiserver::workload_kinds_test
