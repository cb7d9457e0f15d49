// How long a test waits in real time before it gives up: far longer than anything takes, also on a
// machine that is busy with ten other things. What hangs is ended by ctest's own limit.
#pragma once

#include "base/time.h"

namespace lockstep {

inline constexpr Duration test_patience = minutes(10);

}  // namespace lockstep
