// A ResourceClaim: the devices of a pod, and their users. What a DRA driver itself needs besides
// (opaque configuration) it reads from the whole document.
#pragma once

#include <string_view>
#include <vector>

#include "objects/kind.h"
#include "objects/meta.h"

namespace lockstep {

struct ResourceClaim {
  // One allocated device.
  struct Device {
    Text request;
    Text driver;
    Text pool;
    Text device;
    Text share_id;
    bool admin_access = false;

    bool operator==(const Device&) const = default;
  };
  // A user of the claim: a pod, nearly always.
  struct Consumer {
    Text api_group;  // "" for core
    Text resource;   // "pods"
    Text name;
    Text uid;

    bool operator==(const Consumer&) const = default;
  };
  // What a driver says about an allocated device.
  struct DeviceStatus {
    Text driver;
    Text pool;
    Text device;
    Text share_id;
    std::vector<Condition> conditions;

    bool operator==(const DeviceStatus&) const = default;
  };

  ObjectMeta meta;
  bool allocated = false;
  std::vector<Device> devices;
  std::vector<Consumer> reserved_for;
  std::vector<DeviceStatus> device_statuses;

  bool is_reserved_for(std::string_view uid) const;
  bool operator==(const ResourceClaim&) const = default;
};

template <>
struct Kind<ResourceClaim> {
  static const ResourceType& type() { return resource::resource_claims; }
};
template <typename Reader>
void decode(Reader& in, ResourceClaim& claim, DecodeContext& context);

}  // namespace lockstep
