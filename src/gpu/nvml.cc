#include "gpu/nvml.h"

#include <functional>
#include <string_view>

namespace lockstep::gpu {

Result<Nvml> Nvml::open(const LibraryPlaces& places, Reporter& reporter) {
  reporter.entering("dlopen libnvidia-ml.so.1");
  LOCKSTEP_TRY(DriverLibrary library, DriverLibrary::open("libnvidia-ml.so.1", places));
  Nvml nvml(std::move(library), reporter);
  for (const char* needed :
       {"nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2"}) {
    if (!nvml.has(needed)) {
      return failf(ErrorKind::not_found, "no driver found: {} has no symbol {}", nvml.path(),
                   needed);
    }
  }
  return nvml;
}

void* Nvml::find(const char* name) {
  auto known = functions_.find(std::string_view(name));
  if (known != functions_.end()) return known->second;
  void* function = library_.symbol(name);
  functions_.emplace(name, function);
  return function;
}

std::string Nvml::text_of(const char* call, nvml_abi::Code code) {
  const char* text = nullptr;
  if (void* function = find("nvmlErrorString")) {
    text = reinterpret_cast<const char* (*)(nvml_abi::Code)>(function)(code);
  }
  return fmt::format("{}: {} (code {})", call, text == nullptr ? "error" : text, code);
}

Error Nvml::error_of(const char* call, nvml_abi::Code code) {
  using namespace nvml_abi;
  const bool lost = code == gpu_is_lost || code == nvml_abi::not_found;
  return {lost ? gpu_failure : ErrorKind::internal, text_of(call, code), {}};
}

}  // namespace lockstep::gpu
