// The part of the CUDA driver's binary interface that we use, in our own words.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::gpu::cuda_abi {

using Code = int;
using Device = int;
using Context = void*;
using Module = void*;
using Function = void*;
using Stream = void*;
using Event = void*;
using Address = unsigned long long;

enum : Code {
  success = 0,
  out_of_memory = 2,
  no_device = 100,
  ecc_uncorrectable = 214,
  nvlink_uncorrectable = 220,
  contained = 721,
  illegal_address = 700,
  launch_timeout = 702,
  launch_failed = 719,
  symbol_missing = 500,  // CUDA's own word for "not found"
};

enum Attribute : int {
  processor_count = 16,
  capability_major = 75,
  capability_minor = 76,
  largest_shared_memory = 97,  // that a kernel may ask for
};

constexpr int function_shared_memory = 8;  // attribute of a function: its dynamic shared memory

struct alignas(64) TensorMap {
  unsigned char opaque[128];
};
enum : int { type_bf16 = 9, swizzle_128 = 3, promote_256 = 3 };

}  // namespace lockstep::gpu::cuda_abi
