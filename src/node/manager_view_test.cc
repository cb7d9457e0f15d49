#include "node/manager_view.h"

#include <gtest/gtest.h>

namespace lockstep::node::manager_view_test {
namespace {

TEST(ManagerView, EveryStepHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int step = 0; step <= static_cast<int>(ManagerStep::finish); ++step) {
    EXPECT_NE(to_string(static_cast<ManagerStep>(step)), "");
    names.insert(to_string(static_cast<ManagerStep>(step)));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(ManagerStep::finish) + 1);
}

TEST(ManagerView, AStepThatWasNotComeToHasTakenNoTime) {
  ManagerView view;
  view.elapsed[ManagerStep::evict] = seconds(3);
  EXPECT_EQ(view.at(ManagerStep::evict), seconds(3));
  EXPECT_EQ(view.at(ManagerStep::drain), Duration::zero());
}

}  // namespace
}  // namespace lockstep::node::manager_view_test
