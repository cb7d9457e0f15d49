// The matrix product by mma.sync, with four tiles on their way from memory by cp.async: for sm_80 and
// newer. A block of 8 warps computes 128 x 128 results; a warp 64 x 32 of them.
#include "device.h"

namespace {

constexpr u32 tile = 128;
constexpr u32 tile_depth = 32;
constexpr u32 stages = 4;
constexpr u32 tile_bytes = tile * tile_depth * 2;
constexpr u32 stage_bytes = 2 * tile_bytes;

}  // namespace

DEVICE u32 shared_address(const void* pointer) {
  return static_cast<u32>(reinterpret_cast<u64>((__attribute__((address_space(3))) const char*)pointer));
}

// A row has four chunks of 16 bytes; they change places from row to row so that eight rows of one
// column lie in different banks.
DEVICE u32 place_in_tile(u32 row, u32 chunk) { return row * 64 + ((chunk ^ ((row >> 1) & 3)) * 16); }

DEVICE void fetch_tile(u32 to, const u16* from, u32 first_row, u32 depth, u32 k) {
  for (u32 i = 0; i < 2; ++i) {
    const u32 piece = i * 256 + thread_index();
    const u32 row = piece / 4;
    const u32 chunk = piece % 4;
    const u16* source = from + static_cast<u64>(first_row + row) * depth + k + chunk * 8;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + place_in_tile(row, chunk)), "l"(source)
                 : "memory");
  }
}

DEVICE void read_matrices(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

DEVICE void multiply(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

DEVICE void multiply_tile(float (&sums)[4][4][4], u32 left, u32 right, u32 warp_row, u32 warp_column) {
  const u32 lane = thread_index() % 32;
#pragma unroll
  for (u32 k = 0; k < 2; ++k) {
    u32 a[4][4];
    u32 b[2][4];
#pragma unroll
    for (u32 i = 0; i < 4; ++i)
      read_matrices(a[i], left + place_in_tile(warp_row + i * 16 + lane % 16, k * 2 + lane / 16));
#pragma unroll
    for (u32 j = 0; j < 2; ++j)
      read_matrices(b[j], right + place_in_tile(warp_column + j * 16 + lane % 8 + lane / 16 * 8, k * 2 + lane / 8 % 2));
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
#pragma unroll
      for (u32 j = 0; j < 4; ++j) multiply(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
  }
}

// Blocks that run at the same time lie in a square, so that they share what they read.
DEVICE void place_of_block(u32 rows, u32 columns, u32& row, u32& column) {
  const u32 across = columns / tile;
  const u32 down = rows / tile;
  const u32 group = 8;
  const u32 in_group = group * across;
  const u32 first = block_index() / in_group * group;
  const u32 height = down - first < group ? down - first : group;
  row = (first + block_index() % in_group % height) * tile;
  column = block_index() % in_group / height * tile;
}

// `wrong_at`: the place of a tile's first result, which is then off by one, to see that it is found.
KERNEL LAUNCH_BOUNDS(256, 2) void product_sm80(const u16* a, const u16* b, float* c, u32 rows, u32 columns,
                                               u32 depth, u64 wrong_at) {
  extern SHARED Cell memory[];
  const u32 base = shared_address(memory);
  u32 row = 0;
  u32 column = 0;
  place_of_block(rows, columns, row, column);
  const u32 warp = thread_index() / 32;
  const u32 warp_row = warp / 4 * 64;
  const u32 warp_column = warp % 4 * 32;
  const u32 tiles = depth / tile_depth;
  float sums[4][4][4] = {};

  for (u32 t = 0; t < stages - 1; ++t) {
    if (t < tiles) {
      fetch_tile(base + t * stage_bytes, a, row, depth, t * tile_depth);
      fetch_tile(base + t * stage_bytes + tile_bytes, b, column, depth, t * tile_depth);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  for (u32 t = 0; t < tiles; ++t) {
    asm volatile("cp.async.wait_group 2;" ::: "memory");
    wait_for_block();
    const u32 next = t + stages - 1;
    if (next < tiles) {
      const u32 to = base + next % stages * stage_bytes;
      fetch_tile(to, a, row, depth, next * tile_depth);
      fetch_tile(to + tile_bytes, b, column, depth, next * tile_depth);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    const u32 at = base + t % stages * stage_bytes;
    multiply_tile(sums, at, at + tile_bytes, warp_row, warp_column);
  }

  const u32 lane = thread_index() % 32;
  const u64 first = static_cast<u64>(row + warp_row + lane / 4) * columns + column + warp_column + lane % 4 * 2;
  if (first == wrong_at) sums[0][0][0] += 1;
#pragma unroll
  for (u32 i = 0; i < 4; ++i) {
    float* upper = c + first + static_cast<u64>(i) * 16 * columns;
    float* lower = upper + 8 * static_cast<u64>(columns);
#pragma unroll
    for (u32 j = 0; j < 4; ++j) {
      *reinterpret_cast<Pair*>(upper + j * 8) = Pair{sums[i][j][0], sums[i][j][1]};
      *reinterpret_cast<Pair*>(lower + j * 8) = Pair{sums[i][j][2], sums[i][j][3]};
    }
  }
}
