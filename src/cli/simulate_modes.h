// Which flags of `lockstep simulate` go with which of its modes. One that its mode would not look
// at is refused: whoever wrote it believes that it does something.
#pragma once

#include "base/result.h"
#include "cli/simulate_command.h"

namespace lockstep::cli {

Result<void> check_simulate_flags(const SimulateFlags& flags);

}  // namespace lockstep::cli
