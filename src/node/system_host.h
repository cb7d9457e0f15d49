// The machine itself: /proc, the run directory of the driver container, the host's file system
// where a pod has it mounted, and two system calls.
#pragma once

#include <string>
#include <vector>

#include "node/host.h"
#include "world/files.h"
#include "world/process.h"

namespace lockstep::node {

// The two calls that change the kernel. Apart, so that a test on a directory that imitates a
// machine cannot reach the machine.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual Result<void> unload(const std::string& module) = 0;
  virtual Result<void> unmount(const std::string& target) = 0;
};

class SystemKernel final : public Kernel {
 public:
  Result<void> unload(const std::string& module) override;
  Result<void> unmount(const std::string& target) override;
};

// For a machine that is only a directory: says no to both.
class NoKernel final : public Kernel {
 public:
  Result<void> unload(const std::string& module) override;
  Result<void> unmount(const std::string& target) override;
};

struct SystemHostOptions {
  std::string proc = "/proc";
  std::string run = "/run/nvidia";
  // Where the host's own file system is, as the driver's DaemonSet mounts it.
  std::string host_root = "/host";
  // What to put before a program of the host, so that it runs in the host's file system. Empty: it
  // runs in ours.
  std::vector<std::string> enter;
  Duration program_limit = seconds(30);
};

class SystemHost final : public Host {
 public:
  SystemHost(Files& files, Processes& processes, Kernel& kernel, SystemHostOptions options)
      : files_(files), processes_(processes), kernel_(kernel), options_(std::move(options)) {}

  Result<std::optional<std::string>> installed_driver() override;
  Result<HostView> look() override;
  Result<void> unload(const std::string& module) override { return kernel_.unload(module); }
  Result<void> unmount(const std::string& target) override { return kernel_.unmount(target); }
  Result<void> remove(const std::string& file) override { return files_.remove(file); }

 private:
  std::vector<DeviceHolder> find_holders() const;

  Files& files_;
  Processes& processes_;
  Kernel& kernel_;
  SystemHostOptions options_;
};

}  // namespace lockstep::node
