// XIDs: the driver's words for what went wrong with a GPU, in the kernel log and in NVML's events,
// and which of them mean that a GPU is not fit (recipes/xid.yaml).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lockstep::gpu {

struct Xid {
  int code = 0;
  std::string pci;   // "0000:3b:00"; empty when it is not said
  std::string line;  // as the log had it
};

// "NVRM: Xid (PCI:0000:3b:00): 79, pid=..., GPU has fallen off the bus."
std::optional<Xid> xid_in(std::string_view line);

enum class XidClass {
  fatal,        // the GPU, its memory or its links are not fit
  application,  // what a program did wrong
  information,
};

struct XidMeaning {
  XidClass kind = XidClass::fatal;
  std::string about;
};

class XidClasses {
 public:
  static Result<XidClasses> read(std::string_view yaml, std::string_view name);
  // Our own, recipes/xid.yaml.
  static Result<XidClasses> embedded();
  // A code that is not in the list is fatal: a new driver's new code needs a user's attention.
  XidMeaning meaning(int code) const;

 private:
  std::map<int, XidMeaning> meanings_;
};

// The kernel log from now on: /dev/kmsg under the root, read without waiting.
class KernelLog {
 public:
  explicit KernelLog(const std::string& root);
  ~KernelLog();
  KernelLog(const KernelLog&) = delete;
  KernelLog& operator=(const KernelLog&) = delete;

  bool readable() const { return descriptor_ >= 0; }
  // What was said since the last time.
  std::vector<Xid> read();

 private:
  int descriptor_ = -1;
  std::string rest_;
};

}  // namespace lockstep::gpu
