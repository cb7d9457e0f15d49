#include "doctor/examine.h"

#include <set>

#include "doctor/doctor_test_util.h"

namespace lockstep::doctor::examine_test {
namespace {

TEST(Examine, AHealthyClusterIsFineThroughout) {
  auto checks = examine(healthy());
  std::set<std::string> names;
  for (const Check& check : checks) {
    expect_fine(check);
    EXPECT_TRUE(names.insert(check.name).second) << check.name;
  }
  EXPECT_EQ(names.size(), 16U);
}

TEST(Examine, WhatCouldNotBeReadIsSaidAndNeverFine) {
  const std::vector<Check> healthy_checks = examine(healthy());
  for (const Check& each : healthy_checks) {
    ClusterView view = healthy();
    view.unread[each.name] = "forbidden";
    for (const Check& check : examine(view)) {
      if (check.name != each.name) continue;
      EXPECT_EQ(check.verdict, Verdict::skipped) << check.name;
      EXPECT_EQ(check.text, "forbidden");
    }
  }
}

}  // namespace
}  // namespace lockstep::doctor::examine_test
