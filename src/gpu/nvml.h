// NVML, opened at run time. Every function is optional: one that the library lacks answers like one
// that the GPU does not support. Every call is announced before it is made, so that a hang has a
// name.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "gpu/driver_library.h"
#include "gpu/nvml_abi.h"
#include "gpu/reporter.h"

namespace lockstep::gpu {

class Nvml {
 public:
  static Result<Nvml> open(const LibraryPlaces& places, Reporter& reporter);

  template <typename... Arguments>
  nvml_abi::Code call(const char* name, Arguments... arguments) {
    void* function = find(name);
    if (function == nullptr) return nvml_abi::symbol_missing;
    reporter_->entering(name);
    return reinterpret_cast<nvml_abi::Code (*)(Arguments...)>(function)(arguments...);
  }

  bool has(const char* name) { return find(name) != nullptr; }
  // "nvmlInit_v2: Driver/library version mismatch (code 18)".
  std::string text_of(const char* call, nvml_abi::Code code);
  // Lost GPUs are a failure of the GPU, the rest could not be asked.
  Error error_of(const char* call, nvml_abi::Code code);
  const std::string& path() const { return library_.path(); }

 private:
  Nvml(DriverLibrary library, Reporter& reporter)
      : library_(std::move(library)), reporter_(&reporter) {}
  void* find(const char* name);

  DriverLibrary library_;
  Reporter* reporter_;
  std::map<std::string, void*, std::less<>> functions_;
};

}  // namespace lockstep::gpu
