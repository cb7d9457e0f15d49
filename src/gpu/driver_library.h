// A library of the driver, found and opened at run time: NVML or the CUDA driver. The program runs
// on machines that have neither, and with versions that lack some of the functions.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace lockstep::gpu {

struct LibraryPlaces {
  std::string directory;  // when set, only there
  std::string root;       // of the host's file system, where drivers in containers lie; empty: "/"
};

class DriverLibrary {
 public:
  // Fails with not_found, and the searched paths.
  static Result<DriverLibrary> open(const std::string& name, const LibraryPlaces& places);

  // Null when the library has none of that name.
  void* symbol(const char* name) const;
  const std::string& path() const { return path_; }

 private:
  DriverLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* handle_;  // stays open: the driver's libraries do not like to be closed
  std::string path_;
};

// The searched paths of a library, in this order; the loader finds a name without a slash.
std::vector<std::string> candidate_paths(const std::string& name, const LibraryPlaces& places);

}  // namespace lockstep::gpu
