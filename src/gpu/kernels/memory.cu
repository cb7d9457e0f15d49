// Memory: a pattern in every cell of 16 bytes, compared afterwards; and a copy, for the bandwidth.
#include "device.h"

// Depends on the cell's place, so that two addresses that reach the same cell are noticed; `mask`
// all ones is the same pattern with every bit the other way.
DEVICE Cell pattern(u64 place, u32 seed, u32 mask) {
  const u32 h = scramble(static_cast<u32>(place) ^ seed ^ (static_cast<u32>(place >> 32) * 0x9e3779b9U));
  Cell cell;
  cell[0] = h ^ mask;
  cell[1] = ~h ^ mask;
  cell[2] = (h * 0x9e3779b9U) ^ mask;
  cell[3] = ((h << 13) | (h >> 19)) ^ mask;
  return cell;
}

// `wrong_at`: a cell that gets one bit wrong, to test that it is found; past the end: no such cell.
KERNEL void memory_fill(Cell* cells, u64 count, u64 first_place, u32 seed, u32 mask, u64 wrong_at) {
  for (u64 i = first_of_grid(); i < count; i += size_of_grid()) {
    Cell cell = pattern(first_place + i, seed, mask);
    if (i == wrong_at) cell[1] ^= 0x400U;
    cells[i] = cell;
  }
}

// result[0]: cells that differ; result[1]: the first of them.
KERNEL void memory_check(const Cell* cells, u64 count, u64 first_place, u32 seed, u32 mask, u64* result) {
  for (u64 i = first_of_grid(); i < count; i += size_of_grid()) {
    const Cell is = cells[i];
    const Cell should = pattern(first_place + i, seed, mask);
    const u32 differs = (is[0] ^ should[0]) | (is[1] ^ should[1]) |
                        (is[2] ^ should[2]) | (is[3] ^ should[3]);
    if (differs != 0) {
      __atomic_fetch_add(&result[0], 1ULL, __ATOMIC_RELAXED);
      __atomic_fetch_min(&result[1], first_place + i, __ATOMIC_RELAXED);
    }
  }
}

// Four cells on the way at a time: one alone does not keep the memory busy.
KERNEL void memory_copy(const Cell* from, Cell* to, u64 count) {
  const u64 step = size_of_grid();
  u64 i = first_of_grid();
  for (; i + 3 * step < count; i += 4 * step) {
    const Cell a = from[i];
    const Cell b = from[i + step];
    const Cell c = from[i + 2 * step];
    const Cell d = from[i + 3 * step];
    to[i] = a;
    to[i + step] = b;
    to[i + 2 * step] = c;
    to[i + 3 * step] = d;
  }
  for (; i < count; i += step) to[i] = from[i];
}
