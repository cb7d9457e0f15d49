// Steps of a bake, for the tests of its judge and of its record.
#pragma once

#include <utility>

#include "rollout/bake.h"

namespace lockstep::rollout {

inline const Time began = Time::from_unix(1'800'000'000);

inline ModelStep hours_of(double upgraded, double control) {
  return {"H100", upgraded, control, {}, {}};
}

inline BakeStep step_at(Duration after, ModelStep model) {
  BakeStep step;
  step.at = began + after;
  step.models.push_back(std::move(model));
  return step;
}

}  // namespace lockstep::rollout
