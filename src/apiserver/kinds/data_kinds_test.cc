#include <gtest/gtest.h>

#include "apiserver/kinds/rules_test_util.h"

namespace lockstep::apiserver::data_kinds_test {
namespace {

TEST_F(BuiltinRulesTest, KindsThatHoldData) {
  const RuleCase cases[] = {
      {"ConfigMap", "{'data':{'a':'b'},'binaryData':{'a':'Yg=='}}",
       "data[a]: Invalid value: \"a\": duplicate of key present in binaryData"},
      {"Secret", "{'type':'kubernetes.io/tls','stringData':{'tls.crt':'x'}}",
       "data[tls.key]: Required value"},
  };
  for (const RuleCase& each : cases)
    EXPECT_EQ(check(each.kind, each.object), each.complaints) << each.object;
  EXPECT_EQ(check_change("ConfigMap", "{'immutable':true,'data':{'a':'b'}}",
                         "{'immutable':true,'data':{'a':'c'}}"),
            "data: Forbidden: field is immutable when `immutable` is set");
}

}  // namespace
}  // namespace lockstep::apiserver::data_kinds_test
