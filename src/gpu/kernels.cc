#include "gpu/kernels.h"

namespace lockstep::gpu {

Result<ProductKernel> product_kernel(int capability, std::string_view forced) {
  const ProductKernel hopper = {"product_sm90",
                                product_sm90_ptx,
                                128,
                                256,
                                64,
                                384,
                                4 * (128 + 256) * 64 * 2 + 1024,
                                true,
                                4096};
  const ProductKernel ampere = {
      "product_sm80", product_sm80_ptx, 128, 128, 32, 256, 4 * (128 + 128) * 32 * 2, false, 4096};
  const ProductKernel plain = {"product_plain", product_plain_ptx, 16, 16, 16, 256, 0, false, 1024};
  // Code for sm_90a runs on 9.0 and on nothing else, newer GPUs included.
  const bool is_hopper = capability == 90;
  const bool has_bf16 = capability >= 80;
  if (forced.empty()) return is_hopper ? hopper : has_bf16 ? ampere : plain;
  if (forced == hopper.name && is_hopper) return hopper;
  if (forced == ampere.name && has_bf16) return ampere;
  if (forced == plain.name) return plain;
  return failf(ErrorKind::invalid, "{} does not run on compute capability {}.{}", forced,
               capability / 10, capability % 10);
}

}  // namespace lockstep::gpu
