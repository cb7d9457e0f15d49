// The bytes that are written to memory and compared afterwards; the same function runs in
// kernels/memory.cu. Also the numbers that everything random here is made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace lockstep::gpu {

// A bijection of 32 bits that seems random.
constexpr uint32_t scramble(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352dU;
  x = (x ^ (x >> 15)) * 0x846ca68bU;
  return x ^ (x >> 16);
}

using Cell = std::array<uint32_t, 4>;

Cell pattern_cell(uint64_t place, uint32_t seed, uint32_t mask);
void fill_pattern(Cell* cells, size_t count, uint64_t first_place, uint32_t seed, uint32_t mask);

struct Mismatch {
  uint64_t count = 0;
  uint64_t first = 0;  // place of the first cell
};
Mismatch check_pattern(const Cell* cells, size_t count, uint64_t first_place, uint32_t seed,
                       uint32_t mask);

}  // namespace lockstep::gpu
