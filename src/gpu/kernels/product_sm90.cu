// The matrix product for sm_90 (Hopper): the copy engine brings tiles, warpgroups multiply them by wgmma
// straight from shared memory. A block lives on its multiprocessor and takes one tile of 128 x 256
// results after the other: one warpgroup only asks for memory, two compute 64 rows each.
#include "device.h"

namespace {

constexpr u32 tile_rows = 128;
constexpr u32 tile_columns = 256;
constexpr u32 tile_depth = 64;  // 128 bytes of bf16: the width of the swizzle
constexpr u32 stages = 4;
constexpr u32 left_bytes = tile_rows * tile_depth * 2;
constexpr u32 right_bytes = tile_columns * tile_depth * 2;
constexpr u32 stage_bytes = left_bytes + right_bytes;

}  // namespace

DEVICE u32 shared_address(const void* pointer) {
  return static_cast<u32>(reinterpret_cast<u64>((__attribute__((address_space(3))) const char*)pointer));
}

DEVICE void barrier_start(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
DEVICE void barrier_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
DEVICE void barrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
DEVICE void barrier_wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra over;\n"
      "bra again;\n"
      "over:\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

DEVICE void fetch(u32 to, const void* map, u32 k, u32 row, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
          to),
      "l"(map), "r"(barrier), "r"(k), "r"(row)
      : "memory");
}

// A matrix in shared memory as wgmma wants it: rows of 128 bytes, swizzled by the copy engine, eight
// rows to a group of 1024 bytes.
DEVICE u64 matrix_at(u32 address) {
  return ((address & 0x3ffffU) >> 4) | (1ULL << 16) | (64ULL << 32) | (1ULL << 62);
}

#define F4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define F16(i) F4(i), F4(i + 4), F4(i + 8), F4(i + 12)
DEVICE void multiply(float (&d)[128], u64 left, u64 right, u32 keep) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
      "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
      "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
      "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,"
      "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,"
      "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,"
      "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,"
      "%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127},"
      " %128, %129, p, 1, 1, 0, 0;\n"
      "}"
      : F16(0), F16(16), F16(32), F16(48), F16(64), F16(80), F16(96), F16(112)
      : "l"(left), "l"(right), "r"(keep)
      : "memory");
}
#undef F16
#undef F4

// Tiles that are worked on at the same time lie in a square, so that they share what they read.
DEVICE void place_of_tile(u32 index, u32 rows, u32 columns, u32& row, u32& column) {
  const u32 across = columns / tile_columns;
  const u32 down = rows / tile_rows;
  const u32 group = 16;
  const u32 in_group = group * across;
  const u32 first = index / in_group * group;
  const u32 height = down - first < group ? down - first : group;
  row = (first + index % in_group % height) * tile_rows;
  column = index % in_group / height * tile_columns;
}

DEVICE void produce(u32 base, u32 full, u32 empty, const void* left, const void* right, u32 rows, u32 columns,
                    u32 depth) {
  const u32 tiles = rows / tile_rows * (columns / tile_columns);
  u32 stage = 0;
  u32 parity = 1;  // the first round finds every stage empty
  for (u32 tile = block_index(); tile < tiles; tile += block_count()) {
    u32 row = 0;
    u32 column = 0;
    place_of_tile(tile, rows, columns, row, column);
    for (u32 k = 0; k < depth; k += tile_depth) {
      barrier_wait(empty + stage * 8, parity);
      barrier_expect(full + stage * 8, stage_bytes);
      const u32 to = base + stage * stage_bytes;
      fetch(to, left, k, row, full + stage * 8);
      fetch(to + left_bytes, right, k, column, full + stage * 8);
      if (++stage == stages) {
        stage = 0;
        parity ^= 1;
      }
    }
  }
}

DEVICE void write_tile(float* c, float (&d)[128], u32 row, u32 column, u32 columns, u64 wrong_at) {
  const u32 lane = thread_index() % 32;
  const u32 warp = thread_index() / 32 % 4;
  const u64 first = static_cast<u64>(row + warp * 16 + lane / 4) * columns + column + lane % 4 * 2;
  if (first == wrong_at) d[0] += 1;
  float* upper = c + first;
  float* lower = upper + 8 * static_cast<u64>(columns);
#pragma unroll
  for (u32 i = 0; i < 32; ++i) {
    *reinterpret_cast<Pair*>(upper + i * 8) = Pair{d[i * 4], d[i * 4 + 1]};
    *reinterpret_cast<Pair*>(lower + i * 8) = Pair{d[i * 4 + 2], d[i * 4 + 3]};
  }
}

DEVICE void consume(u32 base, u32 full, u32 empty, float* c, u32 rows, u32 columns, u32 depth, u64 wrong_at) {
  const u32 tiles = rows / tile_rows * (columns / tile_columns);
  const u32 group = thread_index() / 128 - 1;
  const bool speaks = thread_index() % 128 == 0;
  u32 stage = 0;
  u32 parity = 0;
  for (u32 tile = block_index(); tile < tiles; tile += block_count()) {
    u32 row = 0;
    u32 column = 0;
    place_of_tile(tile, rows, columns, row, column);
    float d[128];
#pragma unroll
    for (u32 i = 0; i < 128; ++i) d[i] = 0;
    u32 before = stages;
    for (u32 k = 0; k < depth; k += tile_depth) {
      barrier_wait(full + stage * 8, parity);
      const u64 left = matrix_at(base + stage * stage_bytes + group * 64 * 128);
      const u64 right = matrix_at(base + stage * stage_bytes + left_bytes);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (u32 i = 0; i < 4; ++i) multiply(d, left + i * 2, right + i * 2, 1);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      // The products of this stage may still be in progress; those of the stage before are done.
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
      if (before != stages && speaks) barrier_arrive(empty + before * 8);
      before = stage;
      if (++stage == stages) {
        stage = 0;
        parity ^= 1;
      }
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (speaks) barrier_arrive(empty + before * 8);
    write_tile(c, d, row + group * 64, column, columns, wrong_at);
  }
}

// `left` and `right` are tensor maps in global memory, with boxes of 64 by 128 and 64 by 256. `wrong_at`: the
// place of a tile's first result, which is then off by one, to see that it is found.
KERNEL LAUNCH_BOUNDS(384, 1) void product_sm90(const void* left, const void* right, float* c, u32 rows,
                                               u32 columns, u32 depth, u64 wrong_at) {
  extern SHARED Cell memory[];
  SHARED static u64 barriers[2 * stages];
  const u32 base = (shared_address(memory) + 1023U) & ~1023U;
  const u32 full = shared_address(barriers);
  const u32 empty = full + stages * 8;
  if (thread_index() == 0) {
    for (u32 i = 0; i < stages; ++i) {
      barrier_start(full + i * 8, 1);
      barrier_start(empty + i * 8, 2);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  wait_for_block();
  if (thread_index() < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (thread_index() == 0) produce(base, full, empty, left, right, rows, columns, depth);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    consume(base, full, empty, c, rows, columns, depth, wrong_at);
  }
}
