#include "gpu/verdict.h"

#include <gtest/gtest.h>

namespace lockstep::gpu::verdict_test {
namespace {

TEST(Verdict, TheWorseOfTwo) {
  EXPECT_EQ(worse(Verdict::passed, Verdict::inconclusive), Verdict::inconclusive);
  EXPECT_EQ(worse(Verdict::failed, Verdict::error), Verdict::failed);
  EXPECT_EQ(worse(Verdict::error, Verdict::inconclusive), Verdict::error);
}

TEST(Verdict, ChecksComeInTheirOrderWhateverTheOrderOfAsking) {
  auto chosen = chosen_checks({"memory", "driver"});
  ASSERT_TRUE(chosen.has_value());
  EXPECT_EQ(*chosen, (std::vector<std::string>{"driver", "memory"}));
  EXPECT_EQ(chosen_checks({})->size(), gate_checks.size());
}

TEST(Verdict, AnUnknownCheckIsRefusedWithTheNearest) {
  auto chosen = chosen_checks({"memroy"});
  ASSERT_FALSE(chosen.has_value());
  EXPECT_EQ(chosen.error().kind, ErrorKind::invalid);
  EXPECT_NE(chosen.error().text().find("memory"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::gpu::verdict_test
