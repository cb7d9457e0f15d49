// The matrix product of the inference check, compared with the CPU without computing it there: a
// matrix C is A times B exactly when C times x is A times (B times x), for vectors x that the GPU
// cannot have been made for. All numbers are whole and all sums exact, so that there is no
// tolerance to hide in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::gpu {

constexpr uint32_t left_seed = 0x1eaf;
constexpr uint32_t right_seed = 0xb0a7;

// Element `index` of an input: from -64 to 63, as kernels/product.cu makes it.
int product_input(uint64_t index, uint32_t seed);

// Two vectors of `columns` numbers, one after the other: one of -1 and 1, so that no single wrong
// result is missed, one of -7 to 7, so that no two cancel in both.
std::vector<float> judging_vectors(size_t columns);

// For each row i the products of row i of A * transposed(B) with the two vectors: 2 * rows numbers.
// A is rows x depth, B is columns x depth. Works on several threads.
std::vector<double> reference_sums(size_t rows, size_t columns, size_t depth);

}  // namespace lockstep::gpu
