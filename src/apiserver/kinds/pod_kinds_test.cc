#include <gtest/gtest.h>

#include "apiserver/kinds/rules_test_util.h"

namespace lockstep::apiserver::pod_kinds_test {
namespace {

TEST_F(BuiltinRulesTest, OnlyAPodThatRunsGetsTimeToEnd) {
  struct Case {
    const char* pod;
    std::optional<int64_t> asked;
    int64_t grace;
  };
  const Case cases[] = {
      {"{'spec':{'nodeName':'n'}}", std::nullopt, 30},
      {"{'spec':{'nodeName':'n','terminationGracePeriodSeconds':5}}", std::nullopt, 5},
      {"{'spec':{'nodeName':'n','terminationGracePeriodSeconds':5}}", 9, 9},
      {"{'spec':{'nodeName':'n'}}", -1, 0},
      {"{'spec':{}}", 9, 0},
      {"{'spec':{'nodeName':'n'},'status':{'phase':'Failed'}}", 9, 0},
  };
  const Kind& pods = kind_of(info("Pod"));
  for (const Case& each : cases) EXPECT_EQ(pods.grace(json(each.pod), each.asked), each.grace);
  EXPECT_TRUE(pods.may_vanish(json("{'metadata':{'deletionGracePeriodSeconds':0}}")));
  EXPECT_FALSE(pods.may_vanish(json("{'metadata':{'deletionGracePeriodSeconds':3}}")));
}

}  // namespace
}  // namespace lockstep::apiserver::pod_kinds_test
