// A budget that says how many of some pods may be away at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "objects/int_or_percent.h"
#include "objects/kind.h"
#include "objects/meta.h"
#include "objects/selector.h"

namespace lockstep {

struct PodDisruptionBudget {
  ObjectMeta meta;
  LabelSelector selector = LabelSelector::nothing();  // of pods in the same namespace
  std::optional<IntOrPercent> min_available;
  std::optional<IntOrPercent> max_unavailable;
  Text unhealthy_pod_eviction;  // "IfHealthyBudget" (or empty), "AlwaysAllow"
  // Status.
  int64_t observed_generation = 0;
  int32_t disruptions_allowed = 0;
  int32_t current_healthy = 0;
  int32_t desired_healthy = 0;
  int32_t expected_pods = 0;

  bool operator==(const PodDisruptionBudget&) const = default;
};

template <>
struct Kind<PodDisruptionBudget> {
  static const ResourceType& type() { return resource::pod_disruption_budgets; }
};
template <typename Reader>
void decode(Reader& in, PodDisruptionBudget& budget, DecodeContext& context);

}  // namespace lockstep
