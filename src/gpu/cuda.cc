#include "gpu/cuda.h"

#include <array>

namespace lockstep::gpu {

using namespace cuda_abi;

namespace {

// Codes that speak of the GPU and not of the way it was asked.
bool is_failure_of_the_gpu(Code code) {
  for (Code bad : {ecc_uncorrectable, nvlink_uncorrectable, contained, illegal_address,
                   launch_timeout, launch_failed}) {
    if (code == bad) return true;
  }
  constexpr std::array<Code, 7> others = {
      46,   // the device is unavailable
      714,  // hardware stack error
      715,  // illegal instruction
      716,  // misaligned address
      717,  // invalid address space
      718,  // invalid program counter
      999,  // unknown: what a GPU that fell off the bus answers
  };
  for (Code bad : others) {
    if (code == bad) return true;
  }
  return code == no_device;
}

}  // namespace

Result<Cuda> Cuda::open(const LibraryPlaces& places, Reporter& reporter) {
  reporter.entering("dlopen libcuda.so.1");
  LOCKSTEP_TRY(DriverLibrary library, DriverLibrary::open("libcuda.so.1", places));
  Cuda cuda(std::move(library), reporter);
  if (cuda.find("cuInit") == nullptr)
    return failf(ErrorKind::not_found, "{} has no symbol cuInit", cuda.library_.path());
  return cuda;
}

void* Cuda::find(const char* name) {
  auto known = functions_.find(std::string_view(name));
  if (known != functions_.end()) return known->second;
  void* function = library_.symbol(name);
  functions_.emplace(name, function);
  return function;
}

bool Cuda::waits(std::string_view name) {
  return name.find("Synchronize") != std::string_view::npos ||
         name.find("Memcpy") != std::string_view::npos;
}

Result<void> Cuda::checked(const char* name, Code code) {
  if (code == success) return {};
  if (find(name) == nullptr)
    return failf(ErrorKind::unsupported, "{} has no symbol {}", library_.path(), name);
  const char* word = nullptr;
  if (void* function = find("cuGetErrorName"))
    reinterpret_cast<Code (*)(Code, const char**)>(function)(code, &word);
  std::string call = last_kernel_.empty() || !waits(name)
                         ? std::string(name)
                         : fmt::format("{} after {}", name, last_kernel_);
  std::string text = fmt::format("{}: {} (code {})", call, word == nullptr ? "error" : word, code);
  ErrorKind kind = is_failure_of_the_gpu(code) ? gpu_failure
                   : code == out_of_memory     ? ErrorKind::too_large
                                               : ErrorKind::internal;
  return fail(kind, std::move(text));
}

Result<int> Cuda::start() {
  LOCKSTEP_CHECK(call("cuInit", 0U));
  int count = 0;
  LOCKSTEP_CHECK(call("cuDeviceGetCount", &count));
  return count;
}

Result<void> Cuda::launch(Function function, std::string_view name, unsigned blocks,
                          unsigned threads, unsigned shared_bytes, void** arguments) {
  last_kernel_ = name;
  void** extra = nullptr;
  Stream stream = nullptr;
  return call("cuLaunchKernel", function, blocks, 1U, 1U, threads, 1U, 1U, shared_bytes, stream,
              arguments, extra);
}

Result<CudaDevice> CudaDevice::open(Cuda& cuda, Device device) {
  CudaDevice opened(cuda, device);
  Device handle = 0;
  LOCKSTEP_CHECK(cuda.call("cuDeviceGet", &handle, device));
  opened.device_ = handle;
  int major = 0;
  int minor = 0;
  LOCKSTEP_CHECK(cuda.call("cuDeviceGetAttribute", &opened.processors_,
                           static_cast<int>(processor_count), handle));
  LOCKSTEP_CHECK(
      cuda.call("cuDeviceGetAttribute", &major, static_cast<int>(capability_major), handle));
  LOCKSTEP_CHECK(
      cuda.call("cuDeviceGetAttribute", &minor, static_cast<int>(capability_minor), handle));
  LOCKSTEP_CHECK(cuda.call("cuDeviceGetAttribute", &opened.shared_memory_,
                           static_cast<int>(largest_shared_memory), handle));
  opened.capability_ = major * 10 + minor;
  LOCKSTEP_CHECK(cuda.call("cuDevicePrimaryCtxRetain", &opened.context_, handle));
  LOCKSTEP_CHECK(opened.make_current());
  for (int i = 0; i < 2; ++i) {
    Event event = nullptr;
    LOCKSTEP_CHECK(cuda.call("cuEventCreate", &event, 0U));
    opened.events_.push_back(event);
  }
  return opened;
}

CudaDevice::~CudaDevice() {
  release();
  for (Event event : events_) cuda_->code_of("cuEventDestroy_v2", event);
}

Result<void> CudaDevice::make_current() { return cuda_->call("cuCtxSetCurrent", context_); }

void CudaDevice::begin_loading(std::string_view name, std::string_view ptx) {
  // Looked up here: the library's table of functions belongs to this thread.
  auto* set_current = reinterpret_cast<Code (*)(Context)>(cuda_->find("cuCtxSetCurrent"));
  auto* load_data =
      reinterpret_cast<Code (*)(Module*, const void*)>(cuda_->find("cuModuleLoadData"));
  if (set_current == nullptr || load_data == nullptr) return;
  auto work = [=, context = context_, text = std::string(ptx)] {
    Loaded loaded;
    loaded.code = set_current(context);
    if (loaded.code == success) loaded.code = load_data(&loaded.module, text.c_str());
    return loaded;
  };
  loading_.emplace(name, std::async(std::launch::async, std::move(work)));
}

Result<void> CudaDevice::load(std::string_view name, std::string_view ptx) {
  if (modules_.find(name) != modules_.end()) return {};
  Module module = nullptr;
  if (auto begun = loading_.find(name); begun != loading_.end()) {
    cuda_->announce("cuModuleLoadData");
    const Loaded loaded = begun->second.get();
    loading_.erase(begun);
    LOCKSTEP_CHECK(cuda_->checked("cuModuleLoadData", loaded.code));
    module = loaded.module;
  } else {
    // The driver requires a string that ends with a zero byte.
    const std::string text(ptx);
    LOCKSTEP_CHECK(
        cuda_->call("cuModuleLoadData", &module, static_cast<const void*>(text.c_str())));
  }
  modules_.emplace(name, module);
  return {};
}

Result<Function> CudaDevice::function(std::string_view module, const char* name) {
  Function found = nullptr;
  auto loaded = modules_.find(module);
  if (loaded == modules_.end())
    return failf(ErrorKind::internal, "module {} is not loaded", module);
  LOCKSTEP_CHECK(cuda_->call("cuModuleGetFunction", &found, loaded->second, name));
  return found;
}

Result<Address> CudaDevice::allocate(size_t bytes) {
  Address address = 0;
  LOCKSTEP_CHECK(cuda_->call("cuMemAlloc_v2", &address, bytes));
  memory_.push_back(address);
  return address;
}

void CudaDevice::release() {
  for (Address address : memory_) cuda_->code_of("cuMemFree_v2", address);
  memory_.clear();
}

Result<void> CudaDevice::upload(Address to, const void* from, size_t bytes) {
  return cuda_->call("cuMemcpyHtoD_v2", to, from, bytes);
}

Result<void> CudaDevice::download(void* to, Address from, size_t bytes) {
  return cuda_->call("cuMemcpyDtoH_v2", to, from, bytes);
}

Result<void> CudaDevice::wait() { return cuda_->call("cuCtxSynchronize"); }

Result<double> CudaDevice::timed(const std::function<Result<void>()>& work) {
  Stream stream = nullptr;
  LOCKSTEP_CHECK(cuda_->call("cuEventRecord", events_[0], stream));
  LOCKSTEP_CHECK(work());
  LOCKSTEP_CHECK(cuda_->call("cuEventRecord", events_[1], stream));
  LOCKSTEP_CHECK(cuda_->call("cuEventSynchronize", events_[1]));
  float milliseconds = 0;
  LOCKSTEP_CHECK(cuda_->call("cuEventElapsedTime", &milliseconds, events_[0], events_[1]));
  return static_cast<double>(milliseconds) / 1000;
}

}  // namespace lockstep::gpu
