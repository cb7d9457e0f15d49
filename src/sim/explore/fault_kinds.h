// The list of what may go wrong, as data: for each kind whether a scenario has it. A mode that
// draws random scenarios is compared with this list, so that no kind is forgotten or drowned.
#pragma once

#include <span>
#include <string_view>

#include "sim/scenario/scenario.h"

namespace lockstep::sim {

struct FaultKind {
  std::string_view name;
  bool (*occurs)(const Scenario& scenario);
};

std::span<const FaultKind> fault_kinds();

}  // namespace lockstep::sim
