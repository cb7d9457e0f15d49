// Which flags of `lockstep simulate` go with which of its modes. A flag that its mode would ignore
// is refused: its user believes that it does something.
#pragma once

#include "base/result.h"
#include "cli/simulate_command.h"

namespace lockstep::cli {

Result<void> check_simulate_flags(const SimulateFlags& flags);

}  // namespace lockstep::cli
