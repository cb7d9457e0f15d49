// A ResourceSlice: the devices that a DRA driver offers on a node.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "objects/kind.h"
#include "objects/meta.h"
#include "objects/node.h"

namespace lockstep {

struct ResourceSlice {
  struct Device {
    Text name;
    // Only what DecodeContext keeps; numbers and booleans as written.
    StringMap attributes;
    std::vector<Taint> taints;

    // By its plain name or by "domain/name", however the driver wrote it; null when it is missing.
    const Text* find_attribute(std::string_view attribute) const;
    bool operator==(const Device&) const = default;
  };

  ObjectMeta meta;
  Text driver;
  Text pool;
  int64_t pool_generation = 0;
  int64_t pool_slices = 0;
  Text node_name;  // empty for devices that are not tied to one node
  std::vector<Device> devices;

  bool operator==(const ResourceSlice&) const = default;
};

template <>
struct Kind<ResourceSlice> {
  static const ResourceType& type() { return resource::resource_slices; }
};
template <typename Reader>
void decode(Reader& in, ResourceSlice& slice, DecodeContext& context);

}  // namespace lockstep
