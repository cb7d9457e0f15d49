// The pod template of a Job gate. A rollout's author writes it, and its pods run on GPU nodes, so
// only fields that keep a pod inside its own container are accepted; all others are problems.
#pragma once

#include <string_view>

#include "data/json.h"
#include "data/strict_reader.h"

namespace lockstep::rollout {

// The service account of all gate pods; it has no rights.
inline constexpr std::string_view gate_account = "lockstep-gate";

// Refuses every field that is not accepted.
void check_job_gate(StrictReader& job);

// Without rights of its own: the account, no token of it, and no new privileges.
void confine_pod(JsonObject& pod);

// The spec of the pod that an accepted template describes.
JsonObject job_gate_pod(const Json& details);

}  // namespace lockstep::rollout
