#include <algorithm>

#include "gpu/kernels.h"
#include "gpu/measure.h"
#include "gpu/pattern.h"

namespace lockstep::gpu {

namespace {

using cuda_abi::Address;
using cuda_abi::Function;
using cuda_abi::Stream;

constexpr int rounds = 4;

// A buffer on a GPU whose content is made and checked there.
class Buffer {
 public:
  Buffer(CudaDevice& device, size_t bytes) : device_(device), bytes_(bytes) {}

  Result<void> prepare() {
    LOCKSTEP_CHECK(device_.load("memory", memory_ptx));
    LOCKSTEP_TRY(fill_, device_.function("memory", "memory_fill"));
    LOCKSTEP_TRY(check_, device_.function("memory", "memory_check"));
    LOCKSTEP_TRY(memory_, device_.allocate(bytes_));
    LOCKSTEP_TRY(result_, device_.allocate(2 * sizeof(unsigned long long)));
    return {};
  }
  Result<void> fill(unsigned seed) {
    unsigned long long count = bytes_ / sizeof(Cell);
    unsigned long long place = 0;
    unsigned mask = 0;
    unsigned long long wrong = ~0ULL;
    void* arguments[] = {&memory_, &count, &place, &seed, &mask, &wrong};
    return device_.cuda().launch(fill_, "memory_fill", blocks(), 512, 0, arguments);
  }
  Result<unsigned long long> wrong_cells(unsigned seed) {
    unsigned long long values[] = {0, ~0ULL};
    LOCKSTEP_CHECK(device_.upload(result_, &values[0], sizeof values));
    unsigned long long count = bytes_ / sizeof(Cell);
    unsigned long long place = 0;
    unsigned mask = 0;
    void* arguments[] = {&memory_, &count, &place, &seed, &mask, &result_};
    LOCKSTEP_CHECK(device_.cuda().launch(check_, "memory_check", blocks(), 512, 0, arguments));
    LOCKSTEP_CHECK(device_.download(&values[0], result_, sizeof values));
    return values[0];
  }
  Address address() const { return memory_; }

 private:
  unsigned blocks() const { return static_cast<unsigned>(device_.processors()) * 4; }

  CudaDevice& device_;
  size_t bytes_;
  Function fill_ = nullptr;
  Function check_ = nullptr;
  Address memory_ = 0;
  Address result_ = 0;
};

// Memory of the host that the GPU reaches without the CPU's help.
class PinnedMemory {
 public:
  static Result<PinnedMemory> make(Cuda& cuda, size_t bytes) {
    void* memory = nullptr;
    LOCKSTEP_CHECK(cuda.call("cuMemHostAlloc", &memory, bytes, 0U));
    return PinnedMemory(cuda, memory);
  }
  ~PinnedMemory() {
    if (memory_ != nullptr) cuda_.code_of("cuMemFreeHost", memory_);
  }
  PinnedMemory(PinnedMemory&& other) noexcept
      : cuda_(other.cuda_), memory_(std::exchange(other.memory_, nullptr)) {}
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  PinnedMemory& operator=(PinnedMemory&&) = delete;

  void* get() const { return memory_; }
  Cell* cells() const { return static_cast<Cell*>(memory_); }

 private:
  PinnedMemory(Cuda& cuda, void* memory) : cuda_(cuda), memory_(memory) {}
  Cuda& cuda_;
  void* memory_;
};

Result<double> best_rate(CudaDevice& device, size_t bytes,
                         const std::function<Result<void>()>& copy) {
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    LOCKSTEP_TRY(double seconds, device.timed(copy));
    best = std::max(best, static_cast<double>(bytes) / 1e9 / seconds);
  }
  return best;
}

Result<JsonObject> measure_pair(CudaDevice& from, CudaDevice& to, Buffer& source, Buffer& target,
                                size_t bytes, unsigned seed) {
  int direct = 0;
  LOCKSTEP_CHECK(from.make_current());
  LOCKSTEP_CHECK(from.cuda().call("cuDeviceCanAccessPeer", &direct, from.number(), to.number()));
  if (direct != 0) {
    constexpr cuda_abi::Code already = 704;
    const auto code = from.cuda().code_of("cuCtxEnablePeerAccess", to.context(), 0U);
    direct = code == cuda_abi::success || code == already ? 1 : 0;
  }
  LOCKSTEP_CHECK(source.fill(seed));
  LOCKSTEP_TRY(double rate, best_rate(from, bytes, [&] {
                 Stream stream = nullptr;
                 return from.cuda().call("cuMemcpyPeerAsync", target.address(), to.context(),
                                         source.address(), from.context(), bytes, stream);
               }));
  LOCKSTEP_CHECK(from.wait());
  LOCKSTEP_CHECK(to.make_current());
  LOCKSTEP_TRY(unsigned long long wrong, target.wrong_cells(seed));
  return JsonObject{
      {"direct", direct != 0}, {"wrong_cells", wrong}, {"gigabytes_per_second", rate}};
}

}  // namespace

Result<JsonObject> measure_pcie(CudaDevice& device, const MeasureOptions& options) {
  const size_t bytes = options.copy_bytes;
  const size_t cells = bytes / sizeof(Cell);
  LOCKSTEP_TRY(PinnedMemory host, PinnedMemory::make(device.cuda(), bytes));
  Buffer buffer(device, bytes);
  LOCKSTEP_CHECK(buffer.prepare());
  fill_pattern(host.cells(), cells, 0, 3, 0);
  Stream stream = nullptr;
  LOCKSTEP_TRY(double to_gpu, best_rate(device, bytes, [&] {
                 return device.cuda().call("cuMemcpyHtoDAsync_v2", buffer.address(),
                                           static_cast<const void*>(host.get()), bytes, stream);
               }));
  LOCKSTEP_TRY(unsigned long long wrong_there, buffer.wrong_cells(3));
  LOCKSTEP_CHECK(buffer.fill(4));
  LOCKSTEP_TRY(double to_host, best_rate(device, bytes, [&] {
                 return device.cuda().call("cuMemcpyDtoHAsync_v2", host.get(), buffer.address(),
                                           bytes, stream);
               }));
  const Mismatch wrong_here = check_pattern(host.cells(), cells, 0, 4, 0);
  device.release();
  return JsonObject{{"bytes", bytes},
                    {"wrong_cells", wrong_there + wrong_here.count},
                    {"to_gpu_gigabytes_per_second", to_gpu},
                    {"to_host_gigabytes_per_second", to_host}};
}

Result<JsonArray> measure_peers(std::vector<CudaDevice>& devices,
                                const std::vector<std::string>& uuids,
                                const MeasureOptions& options) {
  std::vector<Buffer> sources;
  std::vector<Buffer> targets;
  for (CudaDevice& device : devices) {
    LOCKSTEP_CHECK(device.make_current());
    sources.emplace_back(device, options.copy_bytes);
    targets.emplace_back(device, options.copy_bytes);
    LOCKSTEP_CHECK(sources.back().prepare());
    LOCKSTEP_CHECK(targets.back().prepare());
  }
  JsonArray pairs;
  for (size_t i = 0; i < devices.size(); ++i) {
    for (size_t j = 0; j < devices.size(); ++j) {
      if (i == j) continue;
      const auto seed = static_cast<unsigned>(100 + i * devices.size() + j);
      auto facts =
          measure_pair(devices[i], devices[j], sources[i], targets[j], options.copy_bytes, seed);
      if (!facts) return fail(facts.error().at(fmt::format("{} to {}", uuids[i], uuids[j])));
      (*facts)["from"] = uuids[i];
      (*facts)["to"] = uuids[j];
      pairs.emplace_back(std::move(*facts));
    }
  }
  for (CudaDevice& device : devices) {
    if (device.make_current()) device.release();
  }
  return pairs;
}

}  // namespace lockstep::gpu
