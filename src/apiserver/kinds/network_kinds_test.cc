#include <gtest/gtest.h>

#include "apiserver/kinds/rules_test_util.h"

namespace lockstep::apiserver::network_kinds_test {
namespace {

TEST_F(BuiltinRulesTest, KindsOfTheNetwork) {
  const RuleCase cases[] = {
      {"Service", "{'spec':{'ports':[{'port':80}]}}", ""},
      {"Service", "{'spec':{}}", "spec.ports: Required value"},
      {"Service", "{'spec':{'clusterIP':'None'}}", ""},
      {"Service", "{'spec':{'ports':[{'port':80},{'port':81,'name':'b'}]}}",
       "spec.ports[0].name: Required value"},
  };
  for (const RuleCase& each : cases)
    EXPECT_EQ(check(each.kind, each.object), each.complaints) << each.object;
}

}  // namespace
}  // namespace lockstep::apiserver::network_kinds_test
