#include "objects/resource_slice.h"

#include "objects/reading.h"

namespace lockstep {

namespace {

std::string_view without_domain(std::string_view attribute) {
  size_t slash = attribute.find('/');
  return slash == std::string_view::npos ? attribute : attribute.substr(slash + 1);
}

// {"driverVersion": {"version": "580.65.6"}, "uuid": {"string": "GPU-…"}}
template <typename Reader>
StringMap read_attributes(Reader& in, DecodeContext& context) {
  auto& entries = context.entries;
  entries.clear();
  const auto& keep = context.keep_attributes;
  in.object([&](std::string_view key) {
    std::string_view name = without_domain(key);
    if (std::find(keep.begin(), keep.end(), name) == keep.end()) return in.skip();
    Text interned = context.pool.intern(key);
    Text value;
    in.object([&](std::string_view) { value = context.pool.intern(in.scalar()); });
    entries.emplace_back(std::move(interned), std::move(value));
  });
  StringMap map = StringMap::from_entries(entries);
  entries.clear();
  return map;
}

template <typename Reader>
void decode_device(Reader& in, ResourceSlice::Device& device, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "name") {
      device.name = in.text(context.pool);
    } else if (key == "attributes") {
      device.attributes = read_attributes(in, context);
    } else if (key == "taints") {
      read_vector(in, device.taints, context);
    } else if (key == "basic") {
      // Until v1beta1, all fields but the name were one level deeper.
      decode_device(in, device, context);
    } else {
      in.skip();
    }
  });
}

}  // namespace

const Text* ResourceSlice::Device::find_attribute(std::string_view attribute) const {
  if (const Text* value = attributes.find(attribute)) return value;
  for (const auto& [key, value] : attributes) {
    if (without_domain(key) == without_domain(attribute)) return &value;
  }
  return nullptr;
}

template <typename Reader>
void decode(Reader& in, ResourceSlice& slice, DecodeContext& context) {
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      decode(in, slice.meta, context);
    } else if (key == "spec") {
      in.object([&](std::string_view field) {
        if (field == "driver") {
          slice.driver = in.text(context.pool);
        } else if (field == "nodeName") {
          slice.node_name = in.text(context.pool);
        } else if (field == "pool") {
          in.object([&](std::string_view part) {
            if (part == "name") {
              slice.pool = in.text(context.pool);
            } else if (part == "generation") {
              slice.pool_generation = in.integer();
            } else if (part == "resourceSliceCount") {
              slice.pool_slices = in.integer();
            } else {
              in.skip();
            }
          });
        } else if (field == "devices") {
          slice.devices.clear();
          in.array([&] { decode_device(in, slice.devices.emplace_back(), context); });
          slice.devices.shrink_to_fit();
        } else {
          in.skip();
        }
      });
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(ResourceSlice);

}  // namespace lockstep
