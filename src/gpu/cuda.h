// The CUDA driver, opened at run time, with one context on one GPU. As with NVML every call is
// announced before it is made, and a function that the library lacks is an error of that call
// alone.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/cuda_abi.h"
#include "gpu/driver_library.h"
#include "gpu/reporter.h"

namespace lockstep::gpu {

class Cuda {
 public:
  static Result<Cuda> open(const LibraryPlaces& places, Reporter& reporter);

  template <typename... Arguments>
  cuda_abi::Code code_of(const char* name, Arguments... arguments) {
    void* function = find(name);
    if (function == nullptr) return cuda_abi::symbol_missing;
    reporter_->entering(last_kernel_.empty() || !waits(name)
                            ? std::string(name)
                            : fmt::format("{} after {}", name, last_kernel_));
    return reinterpret_cast<cuda_abi::Code (*)(Arguments...)>(function)(arguments...);
  }
  template <typename... Arguments>
  Result<void> call(const char* name, Arguments... arguments) {
    return checked(name, code_of(name, arguments...));
  }

  // cuInit, and how many GPUs this process may see.
  Result<int> start();

  // Null when the library has none of that name.
  void* find(const char* name);
  Result<void> checked(const char* name, cuda_abi::Code code);
  void announce(std::string_view call) { reporter_->entering(call); }

  Result<void> launch(cuda_abi::Function function, std::string_view name, unsigned blocks,
                      unsigned threads, unsigned shared_bytes, void** arguments);

 private:
  Cuda(DriverLibrary library, Reporter& reporter)
      : library_(std::move(library)), reporter_(&reporter) {}
  static bool waits(std::string_view name);

  DriverLibrary library_;
  Reporter* reporter_;
  std::map<std::string, void*, std::less<>> functions_;
  std::string last_kernel_;
};

// One GPU with a context of its own, its memory and its kernels; current on the thread that made
// it.
class CudaDevice {
 public:
  static Result<CudaDevice> open(Cuda& cuda, cuda_abi::Device device);
  // Gives back its memory; the context stays, as it is the process's own.
  ~CudaDevice();
  CudaDevice(CudaDevice&&) = default;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  CudaDevice& operator=(CudaDevice&&) = delete;
  Result<void> make_current();

  Cuda& cuda() { return *cuda_; }
  cuda_abi::Device number() const { return device_; }
  cuda_abi::Context context() const { return context_; }
  int processors() const { return processors_; }
  int capability() const { return capability_; }  // 90 for 9.0
  int shared_memory() const { return shared_memory_; }

  // Compiles a module's text; the second time it is there already.
  Result<void> load(std::string_view name, std::string_view ptx);
  // Begins that on a thread of its own: the driver takes longer to compile some kernels than to run
  // them.
  void begin_loading(std::string_view name, std::string_view ptx);
  Result<cuda_abi::Function> function(std::string_view module, const char* name);

  Result<cuda_abi::Address> allocate(size_t bytes);
  // All that was allocated.
  void release();
  Result<void> upload(cuda_abi::Address to, const void* from, size_t bytes);
  Result<void> download(void* to, cuda_abi::Address from, size_t bytes);
  Result<void> wait();
  // Seconds on the GPU's own clock for what `work` puts into its queue.
  Result<double> timed(const std::function<Result<void>()>& work);

 private:
  CudaDevice(Cuda& cuda, cuda_abi::Device device) : cuda_(&cuda), device_(device) {}

  Cuda* cuda_;
  cuda_abi::Device device_;
  cuda_abi::Context context_ = nullptr;
  int processors_ = 0;
  int capability_ = 0;
  int shared_memory_ = 0;
  struct Loaded {
    cuda_abi::Code code = cuda_abi::success;
    cuda_abi::Module module = nullptr;
  };
  std::map<std::string, std::future<Loaded>, std::less<>> loading_;
  std::map<std::string, cuda_abi::Module, std::less<>> modules_;
  std::vector<cuda_abi::Address> memory_;
  std::vector<cuda_abi::Event> events_;  // a beginning and an end
};

}  // namespace lockstep::gpu
