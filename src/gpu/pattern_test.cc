#include "gpu/pattern.h"

#include <set>

#include <gtest/gtest.h>

namespace lockstep::gpu::pattern_test {
namespace {

TEST(Pattern, OneWrongBitIsFoundWithItsPlace) {
  std::vector<Cell> cells(1000);
  fill_pattern(cells.data(), cells.size(), 5000, 7, 0);
  EXPECT_EQ(check_pattern(cells.data(), cells.size(), 5000, 7, 0).count, 0U);
  cells[321][2] ^= 1U << 31;
  const Mismatch found = check_pattern(cells.data(), cells.size(), 5000, 7, 0);
  EXPECT_EQ(found.count, 1U);
  EXPECT_EQ(found.first, 5321U);
}

TEST(Pattern, PlacesSeedsAndTheUpperHalfOfAPlaceAllMatter) {
  EXPECT_NE(pattern_cell(1, 1, 0), pattern_cell(2, 1, 0));
  EXPECT_NE(pattern_cell(1, 1, 0), pattern_cell(1, 2, 0));
  EXPECT_NE(pattern_cell(1, 1, 0), pattern_cell((uint64_t{1} << 32) + 1, 1, 0));
}

TEST(Pattern, TheMaskTurnsEveryBit) {
  const Cell plain = pattern_cell(77, 3, 0);
  const Cell turned = pattern_cell(77, 3, ~0U);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(plain[i], ~turned[i]);
}

TEST(Pattern, ScrambleIsABijectionOnASample) {
  std::set<uint32_t> seen;
  for (uint32_t i = 0; i < 10000; ++i) seen.insert(scramble(i));
  EXPECT_EQ(seen.size(), 10000U);
}

}  // namespace
}  // namespace lockstep::gpu::pattern_test
