// The result of a check of the gate, and its evidence. The four verdicts are those of a rollout's
// gates; `skipped` is for what this machine lacks and the user did not request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/gate_checks.h"
#include "base/result.h"
#include "data/json.h"

namespace lockstep::gpu {

// From good to bad.
enum class Verdict { passed, skipped, inconclusive, error, failed };

std::string_view to_string(Verdict verdict);
Verdict worse(Verdict a, Verdict b);

struct CheckResult {
  std::string check;
  std::string gpu;  // its UUID; empty: the node's
  Verdict verdict = Verdict::passed;
  std::string text;  // what was measured and the limit, in a sentence
  JsonObject measured;
  JsonObject limit;
  double seconds = 0;
};

// Fails with the nearest name for one that does not exist; an empty list means all.
Result<std::vector<std::string>> chosen_checks(const std::vector<std::string>& names);

}  // namespace lockstep::gpu
