// The inner loop of SHA-256, in two ways: by arithmetic, on every processor, and by the
// instructions that newer x86 processors have for it, which are six times as fast.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockstep {

using Sha256State = std::array<uint32_t, 8>;

void take_sha256_blocks_by_arithmetic(Sha256State& state, const uint8_t* data, size_t blocks);

bool has_sha256_instructions();
// Only where there are such instructions.
void take_sha256_blocks_by_instructions(Sha256State& state, const uint8_t* data, size_t blocks);

// By whichever is faster here.
void take_sha256_blocks(Sha256State& state, const uint8_t* data, size_t blocks);

}  // namespace lockstep
