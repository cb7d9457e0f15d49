#include "gpu/pattern.h"

namespace lockstep::gpu {

Cell pattern_cell(uint64_t place, uint32_t seed, uint32_t mask) {
  const auto low = static_cast<uint32_t>(place);
  const auto high = static_cast<uint32_t>(place >> 32);
  const uint32_t h = scramble(low ^ seed ^ (high * 0x9e3779b9U));
  return {h ^ mask, ~h ^ mask, (h * 0x9e3779b9U) ^ mask, ((h << 13) | (h >> 19)) ^ mask};
}

void fill_pattern(Cell* cells, size_t count, uint64_t first_place, uint32_t seed, uint32_t mask) {
  for (size_t i = 0; i < count; ++i) cells[i] = pattern_cell(first_place + i, seed, mask);
}

Mismatch check_pattern(const Cell* cells, size_t count, uint64_t first_place, uint32_t seed,
                       uint32_t mask) {
  Mismatch found;
  for (size_t i = 0; i < count; ++i) {
    if (cells[i] == pattern_cell(first_place + i, seed, mask)) continue;
    if (found.count == 0) found.first = first_place + i;
    ++found.count;
  }
  return found;
}

}  // namespace lockstep::gpu
