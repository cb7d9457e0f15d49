// Kernel modules as /proc/modules lists them: which belong to the driver, and in which order they
// can be unloaded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lockstep::node {

struct KernelModule {
  std::string name;
  // By other modules and by programs that have opened its devices.
  int64_t references = 0;
  std::vector<std::string> users;  // modules that depend on this one

  bool operator==(const KernelModule&) const = default;
};

// The text of /proc/modules. An error's place is the line.
Result<std::vector<KernelModule>> parse_modules(std::string_view text);

// The driver (nvidia) and every module that depends on it, each after those that depend on it: the
// order in which they can be unloaded. Found by dependency and not by name, since the kernel has
// modules of its own that are called nvidia-something. Empty: no driver is loaded.
std::vector<std::string> unload_order(const std::vector<KernelModule>& modules);

// Those of unload_order() that are held by something other than a module, as "nvidia_uvm (2)".
std::vector<std::string> busy_modules(const std::vector<KernelModule>& modules);

}  // namespace lockstep::node
