// The gate's outcome in as many bytes as a pod may leave behind: what `lockstep gate` writes to its
// container's termination message, from which a rollout reads the verdict and the numbers.
//
//   {"verdict": "Failed", "seconds": 0.8, "overBudget": false, "results": [
//     {"check": "memory", "verdict": "Failed", "gpu": "GPU-…", "text": "…",
//      "measured": {"gigabytes_per_second": 812.5}, "limit": {"GB/s": 3582.7}}]}
//
// The same names as in `-o json`. What does not fit is left out, the least telling first: GPUs that
// passed are one entry with their number (`gpus`), whose numbers are those of the one nearest to
// its limit; then numbers, then words. `shortened` says that something is missing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "gpu/gate.h"

namespace lockstep::gpu {

// What the kubelet keeps of a container's termination message.
constexpr size_t termination_message_limit = 4096;

// One line, no longer than the limit.
std::string summary_text(const GateOutcome& outcome, size_t limit = termination_message_limit);
// Of a gate that could not be made at all: {"verdict": "Error", "error": "…", "kind": "not found"}.
std::string summary_text(const Error& error, size_t limit = termination_message_limit);

// What summary_text has written, as far as it is in there. Fails where the gate could not be made.
Result<GateOutcome> read_summary(std::string_view text);

}  // namespace lockstep::gpu
