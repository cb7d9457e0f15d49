#include "http/backlog.h"

#include <gtest/gtest.h>

namespace lockstep::http::backlog_test {
namespace {

TEST(Backlog, TheSlowestIsTheOneThatSaidNothingForLongest) {
  Backlog backlog;
  EXPECT_FALSE(backlog.slowest_but(1));
  backlog.set(1, 100);
  backlog.set(2, 50);
  backlog.set(3, 10);
  EXPECT_EQ(backlog.bytes(), 160U);
  EXPECT_EQ(backlog.slowest_but(9), 1U);
  EXPECT_EQ(backlog.slowest_but(1), 2U);
  backlog.set(1, 20);
  EXPECT_EQ(backlog.bytes(), 80U);
  EXPECT_EQ(backlog.slowest_but(9), 2U) << "1 has read";
  backlog.set(2, 0);
  EXPECT_EQ(backlog.slowest_but(9), 3U);
  backlog.set(3, 0);
  backlog.set(1, 0);
  EXPECT_EQ(backlog.bytes(), 0U);
  EXPECT_FALSE(backlog.slowest_but(9));
}

}  // namespace
}  // namespace lockstep::http::backlog_test
