#include <gtest/gtest.h>

#include "apiserver/kinds/rules_test_util.h"

namespace lockstep::apiserver::policy_kinds_test {
namespace {

TEST_F(BuiltinRulesTest, KindsOfPolicies) {
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
  };
  for (const RuleCase& each : cases)
    EXPECT_EQ(check(each.kind, each.object), each.complaints) << each.object;
}

}  // namespace
}  // namespace lockstep::apiserver::policy_kinds_test
