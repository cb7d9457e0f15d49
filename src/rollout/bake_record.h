// A recorded bake: one JSON document per step, so that it can be replayed elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json.h"
#include "rollout/bake.h"

namespace lockstep::rollout {

Json to_json(const BakeStep& step);
Result<BakeStep> step_from_json(const Json& json);
Json to_json(const BakeVerdict& verdict);

Json to_json(const BakeRules& rules);
// What is not there is as usual.
BakeRules rules_from_json(const Json& json);

// The rules and when it began on the first line, then a line for each step. Records of before
// format 2 do not say on which node events happened, nor how long it had baked: they are refused.
struct BakeRecord {
  BakeRules rules;
  Time began;
  std::vector<BakeStep> steps;

  std::string text() const;
  // An error names the line.
  static Result<BakeRecord> parse(std::string_view text);
  // The result of the analysis at the last step.
  BakeVerdict judge() const;
};

}  // namespace lockstep::rollout
