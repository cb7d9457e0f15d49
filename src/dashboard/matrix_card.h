// The version matrix as pages show it.
#pragma once

#include "data/json.h"
#include "rollout/matrix_report.h"

namespace lockstep::dashboard {

Json matrix_card(const rollout::MatrixReport& report);

}  // namespace lockstep::dashboard
