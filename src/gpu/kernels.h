// The kernels as PTX, compiled from kernels/*.cu by clang when we are built, and by the driver when
// they are loaded. Which version of the matrix product a GPU gets.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace lockstep::gpu {

extern const std::string_view memory_ptx;
extern const std::string_view training_ptx;
extern const std::string_view product_ptx;
extern const std::string_view product_plain_ptx;
extern const std::string_view product_sm80_ptx;
extern const std::string_view product_sm90_ptx;

struct ProductKernel {
  const char* name;       // of the module and its function
  std::string_view text;  // PTX
  unsigned rows;          // of a tile: sizes are multiples
  unsigned columns;
  unsigned depth;
  unsigned threads;
  unsigned shared_bytes;
  bool tensor_maps;  // takes its inputs as tensor maps and lives on each multiprocessor
  unsigned size;     // of the square matrices that it is measured on
};

// The best for this compute capability (90 for 9.0), unless `forced` names one that can run there.
Result<ProductKernel> product_kernel(int capability, std::string_view forced);

}  // namespace lockstep::gpu
