#include <algorithm>
#include <chrono>

#include "gpu/kernels.h"
#include "gpu/measure.h"

namespace lockstep::gpu {

namespace {

using cuda_abi::Address;
using cuda_abi::Function;

constexpr size_t cell_bytes = 16;
constexpr size_t megabyte = 1 << 20;
// A launch touches so much at most: a GPU that hangs is then noticed in the middle of a pass.
constexpr size_t piece_bytes = size_t{16} << 30;

class Patterns {
 public:
  explicit Patterns(CudaDevice& device) : device_(device) {}

  Result<void> prepare() {
    LOCKSTEP_CHECK(device_.load("memory", memory_ptx));
    LOCKSTEP_TRY(fill_, device_.function("memory", "memory_fill"));
    LOCKSTEP_TRY(check_, device_.function("memory", "memory_check"));
    LOCKSTEP_TRY(copy_, device_.function("memory", "memory_copy"));
    LOCKSTEP_TRY(result_, device_.allocate(2 * sizeof(unsigned long long)));
    const unsigned long long none[] = {0, ~0ULL};
    return device_.upload(result_, &none[0], sizeof none);
  }

  Result<void> fill(Address at, size_t bytes, unsigned seed, unsigned mask,
                    unsigned long long wrong_at) {
    return in_pieces(bytes, [&](size_t first, unsigned long long count) {
      Address to = at + first * cell_bytes;
      unsigned long long place = first;
      unsigned long long wrong = wrong_at - first;
      void* arguments[] = {&to, &count, &place, &seed, &mask, &wrong};
      return device_.cuda().launch(fill_, "memory_fill", blocks(), 512, 0, arguments);
    });
  }
  Result<void> check(Address at, size_t bytes, unsigned seed, unsigned mask) {
    return in_pieces(bytes, [&](size_t first, unsigned long long count) {
      Address from = at + first * cell_bytes;
      unsigned long long place = first;
      void* arguments[] = {&from, &count, &place, &seed, &mask, &result_};
      return device_.cuda().launch(check_, "memory_check", blocks(), 512, 0, arguments);
    });
  }
  Result<void> copy(Address from, Address to, size_t bytes) {
    unsigned long long count = bytes / cell_bytes;
    void* arguments[] = {&from, &to, &count};
    return device_.cuda().launch(copy_, "memory_copy", blocks(), 512, 0, arguments);
  }
  Result<std::pair<unsigned long long, unsigned long long>> result() {
    unsigned long long values[2] = {};
    LOCKSTEP_CHECK(device_.download(&values[0], result_, sizeof values));
    return std::pair(values[0], values[1]);
  }

 private:
  unsigned blocks() const { return static_cast<unsigned>(device_.processors()) * 4; }
  template <typename Work>
  Result<void> in_pieces(size_t bytes, Work work) {
    for (size_t first = 0; first < bytes; first += piece_bytes) {
      const size_t piece = std::min(piece_bytes, bytes - first);
      LOCKSTEP_CHECK(work(first / cell_bytes, piece / cell_bytes));
    }
    return {};
  }

  CudaDevice& device_;
  Function fill_ = nullptr;
  Function check_ = nullptr;
  Function copy_ = nullptr;
  Address result_ = 0;
};

struct Bandwidth {
  double ours = 0;   // GB/s, read and written
  double plain = 0;  // of the driver's own copy
};

Result<Bandwidth> bandwidth_of(CudaDevice& device, Patterns& patterns, size_t free_bytes) {
  // Many times what a cache holds.
  const size_t bytes = std::min(size_t{2} << 30, free_bytes / 4) / megabyte * megabyte;
  if (bytes == 0) return fail(ErrorKind::too_large, "less than 4 MiB of memory are free");
  LOCKSTEP_TRY(Address from, device.allocate(bytes));
  LOCKSTEP_TRY(Address to, device.allocate(bytes));
  LOCKSTEP_CHECK(patterns.fill(from, bytes, 1, 0, ~0ULL));
  Bandwidth best;
  const double moved = 2.0 * static_cast<double>(bytes) / 1e9;
  for (int round = 0; round < 6; ++round) {
    LOCKSTEP_TRY(double ours, device.timed([&] { return patterns.copy(from, to, bytes); }));
    LOCKSTEP_TRY(double plain, device.timed([&] {
      cuda_abi::Stream stream = nullptr;
      return device.cuda().call("cuMemcpyDtoDAsync_v2", to, from, bytes, stream);
    }));
    best.ours = std::max(best.ours, moved / ours);
    best.plain = std::max(best.plain, moved / plain);
  }
  // What was copied is checked as well.
  LOCKSTEP_CHECK(patterns.copy(from, to, bytes));
  LOCKSTEP_CHECK(patterns.check(to, bytes, 1, 0));
  return best;
}

// Most of what is free, or what can be written and read four times in a quarter of the budget.
size_t bytes_to_test(size_t free_bytes, double gigabytes_per_second, double budget_seconds) {
  const double affordable = gigabytes_per_second * 1e9 / 2 * budget_seconds / 4 / 4;
  const double most = static_cast<double>(free_bytes) * 0.95;
  return static_cast<size_t>(std::min(most, affordable)) / megabyte * megabyte;
}

}  // namespace

Result<JsonObject> measure_memory(CudaDevice& device, const MeasureOptions& options) {
  Patterns patterns(device);
  LOCKSTEP_CHECK(patterns.prepare());
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  LOCKSTEP_CHECK(device.cuda().call("cuMemGetInfo_v2", &free_bytes, &total_bytes));
  LOCKSTEP_TRY(Bandwidth bandwidth, bandwidth_of(device, patterns, free_bytes));
  LOCKSTEP_TRY(auto copied, patterns.result());
  device.release();
  LOCKSTEP_CHECK(patterns.prepare());

  LOCKSTEP_CHECK(device.cuda().call("cuMemGetInfo_v2", &free_bytes, &total_bytes));
  size_t bytes = bytes_to_test(free_bytes, bandwidth.ours, options.budget_seconds);
  Result<Address> memory = device.allocate(bytes);
  // In pieces that are not in one place the driver cannot give all that it calls free.
  while (!memory && memory.error().kind == ErrorKind::too_large && bytes > 16 * megabyte) {
    bytes = bytes / 10 * 9 / megabyte * megabyte;
    memory = device.allocate(bytes);
  }
  if (!memory) return fail(memory.error());
  const unsigned seed = 0x5eed;
  const unsigned long long wrong_at = options.wrong == "memory" ? bytes / cell_bytes / 3 : ~0ULL;
  LOCKSTEP_TRY(double seconds, device.timed([&]() -> Result<void> {
    for (unsigned mask : {0U, ~0U}) {
      LOCKSTEP_CHECK(patterns.fill(*memory, bytes, seed, mask, mask == 0 ? wrong_at : ~0ULL));
      LOCKSTEP_CHECK(patterns.check(*memory, bytes, seed, mask));
    }
    return {};
  }));
  LOCKSTEP_TRY(auto wrong, patterns.result());
  device.release();
  const unsigned long long wrong_cells = wrong.first + copied.first;
  JsonObject facts{
      {"tested_bytes", bytes},
      {"total_bytes", total_bytes},
      {"wrong_cells", wrong_cells},
      {"gigabytes_per_second", bandwidth.ours},
      {"plain_copy_gigabytes_per_second", bandwidth.plain},
      {"pattern_gigabytes_per_second", 4.0 * static_cast<double>(bytes) / seconds / 1e9}};
  if (wrong_cells > 0)
    facts["first_wrong_byte"] = (wrong.first > 0 ? wrong.second : copied.second) * cell_bytes;
  return facts;
}

}  // namespace lockstep::gpu
