#include "dra/device_health.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::dra {

namespace {

// "00000000:3b:00.0" as the kernel log writes it: "0000:3b:00".
std::string log_form(std::string_view pci) {
  constexpr size_t long_domain = 8;
  constexpr size_t short_domain = 4;
  if (size_t colon = pci.find(':'); colon == long_domain) pci.remove_prefix(short_domain);
  return std::string(pci.substr(0, pci.rfind('.')));
}

}  // namespace

std::string trouble_of(const Gpu& gpu) {
  if (gpu.lost) return "the GPU is lost";
  if (gpu.recovery_action && *gpu.recovery_action != 0) {
    switch (*gpu.recovery_action) {
      case 1:
        return "the GPU needs a reset";
      case 2:
        return "the node needs a reboot";
      case 3:
        return "the GPU needs its peers to be drained";
      case 4:
        return "the GPU needs to be drained and reset";
      default:
        return "the GPU needs to be recovered";
    }
  }
  if (gpu.remap_failed) return "a row of the GPU's memory could not be replaced";
  // A driver that knows recovery actions has said that there is nothing to do.
  if (gpu.recovery_action) return "";
  if (gpu.remap_pending) return "the GPU needs a reset to replace a row of its memory";
  if (gpu.uncorrected_errors > 0) return "the GPU's memory has errors that were not corrected";
  return "";
}

bool DeviceHealth::observe(const Inventory& inventory, Time now) {
  DeviceConditions conditions;
  bool changed = false;
  for (const Gpu& gpu : inventory.gpus) {
    DeviceCondition next;
    next.reason = trouble_of(gpu);
    auto xid = xids_.find(gpu.name);
    if (next.reason.empty() && !gpu.recovery_action && xid != xids_.end()) {
      next.reason = fmt::format("the driver reported XID {}", xid->second);
    }
    next.broken = !next.reason.empty();
    next.updated = now;
    auto before = conditions_.find(gpu.name);
    bool was_broken = before != conditions_.end() && before->second.broken;
    next.confirmed = next.broken && was_broken;
    bool is_same = before != conditions_.end() && before->second.broken == next.broken &&
                   before->second.confirmed == next.confirmed &&
                   before->second.reason == next.reason;
    if (is_same) next.updated = before->second.updated;
    changed = changed || !is_same;
    conditions.emplace(gpu.name, std::move(next));
  }
  changed = changed || conditions.size() != conditions_.size();
  conditions_ = std::move(conditions);
  return changed;
}

bool DeviceHealth::note_fatal_xid(const Inventory& inventory, std::string_view pci, int code) {
  for (const Gpu& gpu : inventory.gpus) {
    if (gpu.pci.empty() || log_form(gpu.pci) != log_form(pci)) continue;
    xids_.insert_or_assign(gpu.name, code);
    return true;
  }
  return false;
}

bool DeviceHealth::wants_confirmation() const {
  return std::any_of(conditions_.begin(), conditions_.end(), [](const auto& entry) {
    return entry.second.broken && !entry.second.confirmed;
  });
}

}  // namespace lockstep::dra
