// The matrix product without tensor cores, for GPUs whose tensor cores do not know bf16. In a file of its
// own, as every kernel of a module costs the driver time when it is loaded.
#include "device.h"

DEVICE float from_bf16(u16 bits) { return __builtin_bit_cast(float, static_cast<u32>(bits) << 16); }

// c[m][n] = a[m][k] * b[n][k], without tensor cores; 16 x 16 threads for as many results. `wrong_at`: a
// result that is off by one, to see that it is found.
KERNEL LAUNCH_BOUNDS(256, 1) void product_plain(const u16* a, const u16* b, float* c, u32 /*rows*/, u32 columns,
                                                u32 depth, u64 wrong_at) {
  SHARED static float left[16][17];
  SHARED static float right[16][17];
  const u32 x = thread_index() % 16;
  const u32 y = thread_index() / 16;
  const u32 row = block_index() / (columns / 16) * 16 + y;
  const u32 column = block_index() % (columns / 16) * 16;
  float sum = 0;
  for (u32 k = 0; k < depth; k += 16) {
    left[y][x] = from_bf16(a[static_cast<u64>(row) * depth + k + x]);
    right[y][x] = from_bf16(b[static_cast<u64>(column + y) * depth + k + x]);
    wait_for_block();
    for (u32 i = 0; i < 16; ++i) sum += left[y][i] * right[x][i];
    wait_for_block();
  }
  const u64 place = static_cast<u64>(row) * columns + column + x;
  c[place] = place == wrong_at ? sum + 1 : sum;
}
