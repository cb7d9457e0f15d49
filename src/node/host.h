// The machine under the node, as far as loading a driver again affects it. SystemHost is
// the real one; tests have one in memory, and a real one on a directory that imitates a
// machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "node/modules.h"

namespace lockstep::node {

// A process that has a device file of the driver open.
struct DeviceHolder {
  int64_t process = 0;
  std::string program;

  bool operator==(const DeviceHolder&) const = default;
};

struct HostView {
  std::vector<KernelModule> modules;
  std::vector<DeviceHolder> holders;
  // What the old driver container left mounted, in the order in which it can be undone.
  std::vector<std::string> driver_mounts;
  // The configuration of the driver that is loaded, as its container wrote it down; empty: unknown.
  std::string digest;
  // Files that a driver container leaves behind, where they are there.
  std::string digest_file;
  std::string process_file;
};

class Host {
 public:
  virtual ~Host() = default;
  // The version of a driver that belongs to the machine itself and not to a container.
  virtual Result<std::optional<std::string>> installed_driver() = 0;
  virtual Result<HostView> look() = 0;
  // Fails with kind conflict when it is in use.
  virtual Result<void> unload(const std::string& module) = 0;
  virtual Result<void> unmount(const std::string& target) = 0;
  virtual Result<void> remove(const std::string& file) = 0;
};

}  // namespace lockstep::node
