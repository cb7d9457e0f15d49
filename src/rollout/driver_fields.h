// What of a ClusterPolicy (spec.driver) or NVIDIADriver (spec) names the driver's image: version,
// image, repository and usePrecompiled. A rollout records them as they are and restores exactly
// these: a version cut out of an image's tag is not always one that can be set.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "data/json.h"
#include "rollout/rollout_spec.h"

namespace lockstep::rollout {

struct DriverFields {
  JsonObject values;  // what the object does not have is not in here

  std::string version() const;
  // Nothing of the image comes from the operator's own defaults.
  bool is_complete() const;
  bool operator==(const DriverFields& other) const;
};

// Nothing: a DaemonSet has no such fields.
std::optional<DriverFields> read_driver_fields(DriverKind kind, const Json& object);
// As it is in a status.
std::optional<DriverFields> read_driver_fields(const Json* values);

// Whether the operator may have made this image of them. Where it did not, the object has changed
// and its DaemonSet has not yet, or the other way round.
bool fits(const DriverFields& fields, std::string_view image);

// A merge patch that makes `now` into `then` in the object of that version, and leaves all else.
Json restoring_patch(DriverKind kind, const DriverFields& now, const DriverFields& then,
                     std::string_view resource_version);

}  // namespace lockstep::rollout
