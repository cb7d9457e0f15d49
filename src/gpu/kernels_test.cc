#include "gpu/kernels.h"

#include <gtest/gtest.h>

namespace lockstep::gpu::kernels_test {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST(Kernels, EveryKernelIsInTheProgramAsPtx) {
  for (const char* entry : {".entry memory_fill", ".entry memory_check", ".entry memory_copy"})
    EXPECT_TRUE(has(memory_ptx, entry)) << entry;
  EXPECT_TRUE(has(training_ptx, ".entry train_network"));
  EXPECT_TRUE(has(product_ptx, ".entry product_sums"));
  EXPECT_TRUE(has(product_plain_ptx, ".target sm_70"));
  EXPECT_TRUE(has(product_sm80_ptx, "mma.sync"));
  EXPECT_TRUE(has(product_sm80_ptx, "cp.async"));
  EXPECT_TRUE(has(product_sm90_ptx, "wgmma"));
}

// An array that is indexed at run time would be kept there, and be slow.
TEST(Kernels, NoneUsesLocalMemory) {
  for (std::string_view text :
       {training_ptx, product_ptx, product_plain_ptx, product_sm80_ptx, product_sm90_ptx})
    EXPECT_FALSE(has(text, ".local"));
}

TEST(Kernels, TheProductFitsTheGpu) {
  EXPECT_STREQ(product_kernel(90, "")->name, "product_sm90");
  EXPECT_STREQ(product_kernel(100, "")->name, "product_sm80");
  EXPECT_STREQ(product_kernel(86, "")->name, "product_sm80");
  EXPECT_STREQ(product_kernel(75, "")->name, "product_plain");
  EXPECT_STREQ(product_kernel(90, "product_sm80")->name, "product_sm80");
  EXPECT_FALSE(product_kernel(80, "product_sm90").has_value());
  EXPECT_FALSE(product_kernel(90, "product_sm100").has_value());
}

}  // namespace
}  // namespace lockstep::gpu::kernels_test
