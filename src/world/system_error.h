// Errors of system calls on files as ours: which kind they are, and a sentence with the path.
#pragma once

#include <string_view>

#include "base/result.h"

namespace lockstep {

ErrorKind kind_of_system_error(int number);

// "cannot write /out/x: No space left on device". `what` is the verb; `number` an errno.
Unexpected system_failure(std::string_view what, std::string_view path, int number);

}  // namespace lockstep
