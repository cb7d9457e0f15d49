#include "gpu/product_reference.h"

#include <gtest/gtest.h>

namespace lockstep::gpu::product_reference_test {
namespace {

std::vector<double> by_the_book(size_t size) {
  const std::vector<float> vectors = judging_vectors(size);
  std::vector<double> sums(2 * size);
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j < size; ++j) {
      double element = 0;
      for (size_t k = 0; k < size; ++k)
        element += product_input(i * size + k, left_seed) * product_input(j * size + k, right_seed);
      sums[2 * i] += element * vectors[j];
      sums[2 * i + 1] += element * vectors[size + j];
    }
  }
  return sums;
}

TEST(ProductReference, IsWhatTheWholeProductGives) {
  EXPECT_EQ(reference_sums(48, 48, 48), by_the_book(48));
}

TEST(ProductReference, NoSumOf4096ProductsLeavesWhatAFloatHoldsExactly) {
  for (uint64_t i = 0; i < 10000; ++i) {
    const int value = product_input(i, left_seed);
    EXPECT_GE(value, -64);
    EXPECT_LE(value, 63);
  }
  EXPECT_LE(64 * 64 * 4096, 1 << 24);
}

TEST(ProductReference, TheFirstVectorMissesNoSingleResult) {
  const std::vector<float> vectors = judging_vectors(512);
  for (size_t i = 0; i < 512; ++i) EXPECT_EQ(vectors[i] * vectors[i], 1);
}

}  // namespace
}  // namespace lockstep::gpu::product_reference_test
