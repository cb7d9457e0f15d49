// The part of NVML's binary interface that we use, in our own words. NVIDIA keeps it stable: a
// function whose arguments change gets a new name with a version behind it.
#pragma once

#include <cstdint>

namespace lockstep::gpu::nvml_abi {

using Device = void*;
using EventSet = void*;
using Code = int;

enum : Code {
  success = 0,
  not_supported = 3,
  not_found = 6,
  driver_not_loaded = 9,
  timeout = 10,
  symbol_missing = 13,
  gpu_is_lost = 15,
  version_mismatch = 18,  // library and kernel module
};

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char bus_id[32];
};

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct FieldValue {
  unsigned field;
  unsigned scope;  // of an NVLink field: the link
  long long timestamp;
  long long latency;
  unsigned type;
  Code code;
  union {
    double real;
    unsigned small;
    unsigned long natural;
    unsigned long long large;
    long long integer;
  } value;
};

struct FabricInfo {
  unsigned version;
  unsigned char cluster[16];
  Code status;
  unsigned clique;
  unsigned char state;
  unsigned health;
};
constexpr unsigned fabric_info_version = static_cast<unsigned>(sizeof(FabricInfo)) | (2U << 24);

struct EventData {
  Device device;
  unsigned long long type;
  unsigned long long data;  // the XID
  unsigned gpu_instance;
  unsigned compute_instance;
};
constexpr unsigned long long xid_event = 8;

enum Field : unsigned {
  nvlink_replay_errors = 161,
  nvlink_recovery_errors = 162,
  nvlink_crc_errors = 163,
  nvlink_speed = 164,
  recovery_action = 230,
};

// Reasons for lower clocks.
enum : unsigned long long {
  software_power_cap = 0x4,
  hardware_slowdown = 0x8,
  software_thermal = 0x20,
  hardware_thermal = 0x40,
  hardware_power_brake = 0x80,
};
constexpr unsigned long long hardware_reasons =
    hardware_slowdown | hardware_thermal | hardware_power_brake;

constexpr unsigned most_links = 18;
constexpr unsigned fabric_completed = 3;

}  // namespace lockstep::gpu::nvml_abi
