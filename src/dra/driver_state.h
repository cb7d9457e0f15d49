// What the node's driver is at this moment, by files alone: the kernel module, the library that
// belongs to it, and the mount through which it is seen. Cheap enough to be read several times a
// second; no handle stays open. Whatever changes here makes all that was learned from NVML old.
#pragma once

#include <string>

#include "gpu/driver_library.h"

namespace lockstep::dra {

// The searched paths; tests have roots of their own.
struct DriverPlaces {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string dev = "/dev";
  gpu::LibraryPlaces library;  // resolved on every use
};

struct DriverState {
  std::string module_version;  // empty: none is loaded
  std::string module_load;     // differs from one loading of the module to the next
  std::string library_folder;  // where it is to be opened; empty: none is there
  std::string library_path;    // after all links
  std::string library_file;    // its device and inode
  std::string boot_id;

  bool usable() const { return !module_version.empty() && !library_path.empty(); }
  bool operator==(const DriverState&) const = default;
};

DriverState read_driver_state(const DriverPlaces& places);

// "580.105.08" in what /proc/driver/nvidia/version says; empty: it says none.
std::string module_version_in(std::string_view text);

}  // namespace lockstep::dra
