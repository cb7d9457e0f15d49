// The node's GPUs, as NVML's process last reported them (gpu/nvml_inventory.h has the format).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/json.h"

namespace lockstep::dra {

struct Gpu {
  std::string name;  // in slices and claims: "gpu-0", by its minor number
  int minor = 0;
  std::string uuid;
  std::string product;
  std::string architecture;
  std::string compute_capability;
  std::string pci;
  uint64_t memory_bytes = 0;

  // What there is to know of its health. What a driver does not say is missing.
  bool lost = false;
  std::optional<int> recovery_action;
  bool remap_failed = false;
  bool remap_pending = false;
  uint64_t uncorrected_errors = 0;  // since the driver was loaded

  bool operator==(const Gpu&) const = default;
};

struct Inventory {
  std::string driver_version;
  std::string cuda_version;
  std::string library;
  std::vector<Gpu> gpus;

  const Gpu* find(std::string_view name) const;
  bool operator==(const Inventory&) const = default;
};

// Fails with what NVML's process said was wrong, or where it said nothing that can be read.
Result<Inventory> read_inventory(std::string_view answer);

// A GPU that was there and is not any more has not left the machine: it is lost. Only for
// inventories of one driver on one boot.
Inventory keep_lost_gpus(const Inventory& before, Inventory now);

// "580.105.8" for "580.105.08": the API takes semantic versions only.
std::string semantic_version(std::string_view version);

}  // namespace lockstep::dra
