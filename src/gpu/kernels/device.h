// The few declarations that our kernels need: they are compiled by clang alone, without the headers
// and libraries of a CUDA toolkit.
#pragma once

#define KERNEL extern "C" __attribute__((global))
#define DEVICE __attribute__((device)) __attribute__((always_inline)) static inline
#define SHARED __attribute__((shared))
#define LAUNCH_BOUNDS(threads, blocks) __attribute__((launch_bounds(threads, blocks)))

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

using Pair = float __attribute__((ext_vector_type(2)));
// 16 bytes, the most that a thread moves at once. A vector, as a struct would be copied in two
// halves.
using Cell = u32 __attribute__((ext_vector_type(4)));

DEVICE u32 thread_index() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE u32 thread_count() { return __nvvm_read_ptx_sreg_ntid_x(); }
DEVICE u32 block_index() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE u32 block_count() { return __nvvm_read_ptx_sreg_nctaid_x(); }
DEVICE u64 first_of_grid() {
  return static_cast<u64>(block_index()) * thread_count() + thread_index();
}
DEVICE u64 size_of_grid() { return static_cast<u64>(block_count()) * thread_count(); }
DEVICE void wait_for_block() { __syncthreads(); }

// The same function as gpu::scramble in pattern.h, in other words: a bijection of 32 bits.
DEVICE u32 scramble(u32 x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}
