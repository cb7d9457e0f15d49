// What users read about a claim that could not be prepared: conditions that stay on the claim.
// Pure: from the claim as it is to the patch that it needs, none where it says so already.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "data/json.h"
#include "dra/failure.h"
#include "objects/resource_type.h"

namespace lockstep::dra {

inline constexpr std::string_view prepared_condition = "Prepared";

// "BadConfig", "DeviceFailed", "NotYet", "Prepared".
std::string_view reason_word(const std::optional<ClaimFailure>& failure);

// For server-side apply on resourceclaims/status: a condition on every device of ours. Nothing: it
// is up to date, or nothing was ever wrong, or the claim has no device of ours.
std::optional<Json> claim_status_patch(const Json& claim, std::string_view driver,
                                       const std::optional<ClaimFailure>& failure, Time now);

}  // namespace lockstep::dra
