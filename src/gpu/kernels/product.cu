// What every version of the matrix product shares: its inputs, made on the GPU, and the sums by
// which the CPU checks its result.
#include "device.h"

// Whole numbers from -64 to 63: products of bf16 and their sums over 4096 are then exact in float, in
// whatever order they are added, and the result can be held to the last bit.
KERNEL void product_input(u16* values, u64 count, u32 seed) {
  for (u64 i = first_of_grid(); i < count; i += size_of_grid()) {
    const u32 h = scramble(static_cast<u32>(i) ^ seed);
    const float value = static_cast<float>(static_cast<int>(h >> 25) - 64);
    values[i] = static_cast<u16>(__builtin_bit_cast(u32, value) >> 16);
  }
}

// For each row of a matrix its products with two vectors; a block for each row. Doubles hold these sums
// exactly.
KERNEL LAUNCH_BOUNDS(256, 1) void product_sums(const float* matrix, u32 columns, const float* vectors,
                                               double* sums) {
  SHARED static double parts[2][256];
  const float* row = matrix + static_cast<u64>(block_index()) * columns;
  double first = 0;
  double second = 0;
  for (u32 i = thread_index(); i < columns; i += 256) {
    const double value = row[i];
    first += value * vectors[i];
    second += value * vectors[columns + i];
  }
  parts[0][thread_index()] = first;
  parts[1][thread_index()] = second;
  wait_for_block();
  if (thread_index() < 2) {
    double sum = 0;
    for (u32 i = 0; i < 256; ++i) sum += parts[thread_index()][i];
    sums[2 * block_index() + thread_index()] = sum;
  }
}
