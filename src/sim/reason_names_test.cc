#include "sim/reason_names.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace lockstep::sim::reason_names_test {
namespace {

// That none is missing is held by tests/docs.
TEST(ReasonNames, AreInOrderAndOnce) {
  auto names = reason_names();
  EXPECT_GT(names.size(), 100u);
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end(),
                               [](const auto& left, const auto& right) { return left >= right; }),
            names.end());
}

}  // namespace
}  // namespace lockstep::sim::reason_names_test
