// The gate's outcome for display, as JSON, and as CTRF (the common test report format).
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "gpu/gate.h"

namespace lockstep::gpu {

// Adds a colour to a string, or nothing.
using Paint = std::function<std::string(std::string_view text, Verdict verdict)>;

// A line for each check: the worst result of its GPUs, and each GPU that did not pass and is no
// better than that.
std::string table_text(const GateOutcome& outcome, const Paint& paint);
std::string json_text(const GateOutcome& outcome);
std::string ctrf_text(const GateOutcome& outcome, Time started, std::string_view version);
// `lockstep gate --list`.
std::string list_text();

}  // namespace lockstep::gpu
