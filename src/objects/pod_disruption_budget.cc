#include "objects/pod_disruption_budget.h"

#include "objects/reading.h"

namespace lockstep {

template <typename Reader>
void decode(Reader& in, PodDisruptionBudget& budget, DecodeContext& context) {
  auto number = [&] { return static_cast<int32_t>(in.integer()); };
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      decode(in, budget.meta, context);
    } else if (key == "spec") {
      in.object([&](std::string_view field) {
        if (field == "selector") {
          budget.selector = read_selector(in, context);
        } else if (field == "minAvailable") {
          budget.min_available = read_int_or_percent(in, "minAvailable", context);
        } else if (field == "maxUnavailable") {
          budget.max_unavailable = read_int_or_percent(in, "maxUnavailable", context);
        } else if (field == "unhealthyPodEvictionPolicy") {
          budget.unhealthy_pod_eviction = in.text(context.pool);
        } else {
          in.skip();
        }
      });
    } else if (key == "status") {
      in.object([&](std::string_view field) {
        if (field == "observedGeneration") {
          budget.observed_generation = in.integer();
        } else if (field == "disruptionsAllowed") {
          budget.disruptions_allowed = number();
        } else if (field == "currentHealthy") {
          budget.current_healthy = number();
        } else if (field == "desiredHealthy") {
          budget.desired_healthy = number();
        } else if (field == "expectedPods") {
          budget.expected_pods = number();
        } else {
          in.skip();
        }
      });
    } else {
      in.skip();
    }
  });
}
LOCKSTEP_INSTANTIATE_DECODE(PodDisruptionBudget);

}  // namespace lockstep
