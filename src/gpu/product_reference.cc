#include "gpu/product_reference.h"

#include <algorithm>
#include <thread>

#include "gpu/pattern.h"

namespace lockstep::gpu {

namespace {

constexpr size_t most_threads = 4;

// Calls work(first, end, part) for equal parts of 0..count, each on a thread of its own.
template <typename Work>
void in_parts(size_t count, Work work) {
  const size_t parts = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, most_threads);
  std::vector<std::thread> threads;
  for (size_t part = 0; part < parts; ++part) {
    threads.emplace_back([=] { work(count * part / parts, count * (part + 1) / parts, part); });
  }
  for (std::thread& thread : threads) thread.join();
}

struct Two {
  std::vector<int64_t> first;
  std::vector<int64_t> second;
};

// transposed(B) times the two vectors.
Two times_right(size_t columns, size_t depth, const std::vector<float>& vectors) {
  std::vector<Two> parts(most_threads,
                         Two{std::vector<int64_t>(depth), std::vector<int64_t>(depth)});
  in_parts(columns, [&](size_t begin, size_t end, size_t part) {
    Two& sums = parts[part];
    for (size_t row = begin; row < end; ++row) {
      const auto first = static_cast<int>(vectors[row]);
      const auto second = static_cast<int>(vectors[columns + row]);
      for (size_t k = 0; k < depth; ++k) {
        const int value = product_input(row * depth + k, right_seed);
        sums.first[k] += value * first;
        sums.second[k] += value * second;
      }
    }
  });
  for (size_t part = 1; part < most_threads; ++part) {
    for (size_t k = 0; k < depth; ++k) {
      parts[0].first[k] += parts[part].first[k];
      parts[0].second[k] += parts[part].second[k];
    }
  }
  return parts[0];
}

}  // namespace

int product_input(uint64_t index, uint32_t seed) {
  return static_cast<int>(scramble(static_cast<uint32_t>(index) ^ seed) >> 25) - 64;
}

std::vector<float> judging_vectors(size_t columns) {
  std::vector<float> vectors(2 * columns);
  for (size_t i = 0; i < columns; ++i) {
    const uint32_t h = scramble(static_cast<uint32_t>(i) ^ 0x7e57U);
    vectors[i] = (h & 1U) == 0 ? -1.0F : 1.0F;
    vectors[columns + i] = static_cast<float>(static_cast<int>((h >> 8) % 15) - 7);
  }
  return vectors;
}

std::vector<double> reference_sums(size_t rows, size_t columns, size_t depth) {
  const Two right = times_right(columns, depth, judging_vectors(columns));
  std::vector<double> sums(2 * rows);
  in_parts(rows, [&](size_t begin, size_t end, size_t) {
    for (size_t row = begin; row < end; ++row) {
      int64_t first = 0;
      int64_t second = 0;
      for (size_t k = 0; k < depth; ++k) {
        const int64_t value = product_input(row * depth + k, left_seed);
        first += value * right.first[k];
        second += value * right.second[k];
      }
      sums[2 * row] = static_cast<double>(first);
      sums[2 * row + 1] = static_cast<double>(second);
    }
  });
  return sums;
}

}  // namespace lockstep::gpu
