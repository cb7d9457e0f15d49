// Whether devices are fit, over time. A device that NVML calls broken is broken at once, and surely
// so when NVML says it a second time; it has recovered when NVML says so. A message of the kernel
// log (an XID) never heals, and breaks a device only where NVML does not report on it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/time.h"
#include "dra/inventory.h"

namespace lockstep::dra {

struct DeviceCondition {
  bool broken = false;
  bool confirmed = false;  // said twice: pods are to leave
  std::string reason;      // stable: no counters
  Time updated;

  bool operator==(const DeviceCondition&) const = default;
};
using DeviceConditions = std::map<std::string, DeviceCondition, std::less<>>;  // by name

// Why the GPU is not fit, by what NVML says; empty: it is.
std::string trouble_of(const Gpu& gpu);

class DeviceHealth {
 public:
  // True when anything that others see has changed.
  bool observe(const Inventory& inventory, Time now);
  // A fatal XID of the GPU on this bus ("0000:3b:00"). True when it is one of ours: NVML is to be
  // asked now.
  bool note_fatal_xid(const Inventory& inventory, std::string_view pci, int code);
  // The driver was loaded again: the kernel log's errors of the old one no longer count.
  void forget_xids() { xids_.clear(); }

  const DeviceConditions& conditions() const { return conditions_; }
  // A device that is broken for the first time: it is to be checked again soon.
  bool wants_confirmation() const;

 private:
  DeviceConditions conditions_;
  std::map<std::string, int, std::less<>> xids_;  // fatal ones, by device
};

}  // namespace lockstep::dra
