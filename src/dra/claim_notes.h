// What people read about a claim that could not be prepared: conditions that stay on the claim and
// on its pods. Pure: from the objects as they are to the patches that they need, none where they
// say it already.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "data/json.h"
#include "dra/failure.h"
#include "objects/resource_type.h"

namespace lockstep::dra {

inline constexpr std::string_view prepared_condition = "Prepared";
inline constexpr std::string_view pod_condition = "gpu.lockstep.dev/Prepared";

// "BadConfig", "DeviceFailed", "NotYet", "Prepared".
std::string_view reason_word(const std::optional<ClaimFailure>& failure);

// For server-side apply on resourceclaims/status: a condition on every device of ours. Nothing: it
// stands there already, or nothing was ever wrong, or the claim has no device of ours.
std::optional<Json> claim_status_patch(const Json& claim, std::string_view driver,
                                       const std::optional<ClaimFailure>& failure, Time now);

// The pods that the claim is reserved for.
std::vector<std::string> pods_of(const Json& claim);
// A strategic patch of pods/status; nothing: it stands there already, or nothing was ever wrong.
std::optional<Json> pod_status_patch(const Json& pod, std::string_view driver,
                                     const std::optional<ClaimFailure>& failure, Time now);

}  // namespace lockstep::dra
