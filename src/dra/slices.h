// What the scheduler knows of this node's devices: one ResourceSlice, and the next step to make the
// cluster's slices equal to it. Pure: from what is published and what is wanted to at most one
// write.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/json.h"
#include "dra/device_health.h"
#include "dra/inventory.h"
#include "objects/resource_type.h"

namespace lockstep::dra {

struct SliceSettings {
  std::string driver = "gpu.lockstep.dev";
  std::string node;
  std::string node_uid;
};

// Keys of taints on devices.
inline constexpr std::string_view driver_taint = "gpu.lockstep.dev/driver-upgrading";
inline constexpr std::string_view health_taint = "gpu.lockstep.dev/unhealthy";

struct SliceWish {
  // Nothing: no driver was there since the plugin's start. What an earlier process published stays,
  // and is kept from the scheduler.
  std::optional<Inventory> inventory;
  DeviceConditions conditions;
  bool driver_away = false;
};

// The devices of a slice as they are to be, without the times of their taints. A server that knows
// no taints would hand a broken device to the next pod: there it is left out.
JsonArray slice_devices(const SliceWish& wish, bool without_taints = false);
// "node-driver", or shorter if that is not a valid name.
std::string slice_name(const SliceSettings& settings);

struct SliceStep {
  enum class Kind { none, create, update, remove };
  Kind kind = Kind::none;
  std::string name;
  Json object;  // to create or update
};

// `published`: the node's slices of this driver, from any writer. `without_taints`: this server
// drops them, so that their absence is no reason to write.
//
// The rules of Kubernetes' own helper: the slices of the highest generation are the pool, older
// ones are removed; one slice is changed in place, under its generation; where the number of slices
// changes, the generation rises. A taint that stays keeps the time at which it was set.
SliceStep next_slice_step(const SliceSettings& settings, const SliceWish& wish,
                          const std::vector<Document>& published, bool without_taints);

// Whether the server gave back fewer taints than it was sent.
bool lost_taints(const Json& sent, const Json& answered);
// Whether it was sent any.
bool has_taints(const Json& slice);

}  // namespace lockstep::dra
