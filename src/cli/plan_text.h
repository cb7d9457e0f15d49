// A plan for display.
#pragma once

#include <string>

#include "operate/plan.h"

namespace lockstep::cli {

std::string plan_text(const operate::PlanAnswer& answer);

}  // namespace lockstep::cli
