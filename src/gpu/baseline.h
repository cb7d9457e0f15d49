// The facts of an earlier gate on the same node, before its upgrade: error counts are compared as
// differences, speeds as ratios.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "data/json.h"

namespace lockstep::gpu {

std::string baseline_text(const Json& facts, Time taken);
// The facts. Fails with invalid if the text is not JSON (cut off, say), not a baseline, or one of
// an unknown version.
Result<Json> read_baseline(std::string_view text, std::string_view name);

}  // namespace lockstep::gpu
