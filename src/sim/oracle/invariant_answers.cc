#include "sim/oracle/invariant_answers.h"

#include <fmt/format.h>

namespace lockstep::sim {

// Sentences count the time that is left, and two clocks may differ.
void OneAnswer::compare(const Answers& controller, const Answers& observer) const {
  for (const auto& [node, reason] : controller) {
    auto at = observer.find(node);
    if (at == observer.end()) {
      accuse(fmt::format("the controller says {} of {}, and an observer nothing",
                         reason.name.view(), node));
    } else if (at->second.name != reason.name || at->second.remedy != reason.remedy) {
      accuse(fmt::format("the controller says {} ({}) of {}, and an observer {} ({})",
                         reason.name.view(), reason.remedy, node, at->second.name.view(),
                         at->second.remedy));
    }
  }
}

}  // namespace lockstep::sim
