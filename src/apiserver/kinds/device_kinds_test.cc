#include <gtest/gtest.h>

#include "apiserver/kinds/rules_test_util.h"

namespace lockstep::apiserver::device_kinds_test {
namespace {

TEST_F(BuiltinRulesTest, KindsOfDevices) {
  const RuleCase cases[] = {
      {"ResourceClaim",
       "{'spec':{'devices':{'requests':[{'name':'g','exactly':{'deviceClassName':'gpu'}}]}}}", ""},
      {"ResourceClaim", "{'spec':{'devices':{'requests':[{'name':'g','exactly':{}}]}}}",
       "spec.devices.requests[0].exactly.deviceClassName: Required value"},
  };
  for (const RuleCase& each : cases)
    EXPECT_EQ(check(each.kind, each.object), each.complaints) << each.object;
}

}  // namespace
}  // namespace lockstep::apiserver::device_kinds_test
