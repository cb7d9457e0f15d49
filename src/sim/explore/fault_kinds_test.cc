#include "sim/explore/fault_kinds.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "sim/explore/random_run.h"

namespace lockstep::sim::fault_kinds_test {
namespace {

TEST(FaultKinds, ACalmScenarioHasNone) {
  Scenario calm;
  for (const FaultKind& kind : fault_kinds()) EXPECT_FALSE(kind.occurs(calm)) << kind.name;
}

TEST(FaultKinds, EachHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const FaultKind& kind : fault_kinds()) EXPECT_TRUE(names.insert(kind.name).second);
}

// None is so rare that a build would see it only by luck: of 300 seeds at least ten have it.
TEST(FaultKinds, RandomScenariosHaveEachOfThem) {
  std::map<std::string_view, int> counts;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Scenario scenario = random_scenario(seed);
    for (const FaultKind& kind : fault_kinds()) counts[kind.name] += kind.occurs(scenario) ? 1 : 0;
  }
  for (const auto& [name, count] : counts) EXPECT_GE(count, 10) << name;
}

}  // namespace
}  // namespace lockstep::sim::fault_kinds_test
