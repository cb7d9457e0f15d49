#include "apiserver/kinds/kind.h"

#include <gtest/gtest.h>

#include "apiserver/kinds/rules_test_util.h"

namespace lockstep::apiserver::kind_test {
namespace {

TEST_F(BuiltinRulesTest, EveryRowIsOfAKindThatIsServed) {
  for (auto family : {pod_kinds, workload_kinds, cluster_kinds, data_kinds, network_kinds,
                      policy_kinds, device_kinds}) {
    for (const Kind& kind : family()) {
      const ResourceInfo* served = nullptr;
      for (const ResourceInfo* each : table_.all()) {
        if (each->type.group == kind.group && each->type.plural == kind.plural) served = each;
      }
      ASSERT_NE(served, nullptr) << kind.plural;
      EXPECT_EQ(kind_of(*served).plural, kind.plural);
      EXPECT_EQ(kind_of(*served).group, kind.group);
      EXPECT_EQ(kind_stored_as(served->type.full_name()).group, kind.group);
    }
  }
}

TEST_F(BuiltinRulesTest, ACustomResourceHasNothingOfAKindOfThatName) {
  ResourceInfo custom;
  custom.type = {"", "v1", "Pod", "pods", true};
  custom.custom = true;
  EXPECT_EQ(kind_of(custom).check, nullptr);
  EXPECT_TRUE(kind_of(custom).counts_generations);
  EXPECT_EQ(kind_stored_as("widgets.example.com").may_vanish, nullptr);
}

}  // namespace
}  // namespace lockstep::apiserver::kind_test
