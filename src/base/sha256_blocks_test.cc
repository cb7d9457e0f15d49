#include "base/sha256_blocks.h"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::sha256_blocks_test {
namespace {

RC_GTEST_PROP(Sha256Blocks, TheInstructionsGiveWhatArithmeticGives, ()) {
  if (!has_sha256_instructions()) return;
  auto blocks = *rc::gen::inRange<size_t>(0, 5);
  auto data = *rc::gen::container<std::vector<uint8_t>>(blocks * 64, rc::gen::arbitrary<uint8_t>());
  auto state = *rc::gen::container<Sha256State>(rc::gen::arbitrary<uint32_t>());
  Sha256State by_arithmetic = state;
  Sha256State by_instructions = state;
  take_sha256_blocks_by_arithmetic(by_arithmetic, data.data(), blocks);
  take_sha256_blocks_by_instructions(by_instructions, data.data(), blocks);
  RC_ASSERT(by_arithmetic == by_instructions);
}

// FIPS 180-2, the block of "abc".
TEST(Sha256Blocks, OneKnownBlock) {
  std::vector<uint8_t> block(64);
  block[0] = 'a';
  block[1] = 'b';
  block[2] = 'c';
  block[3] = 0x80;
  block[63] = 24;
  Sha256State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  take_sha256_blocks_by_arithmetic(state, block.data(), 1);
  EXPECT_EQ(state, (Sha256State{0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223, 0xb00361a3,
                                0x96177a9c, 0xb410ff61, 0xf20015ad}));
}

}  // namespace
}  // namespace lockstep::sha256_blocks_test
