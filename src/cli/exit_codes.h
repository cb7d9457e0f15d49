// What the program's exit code says; documented in the README.
#pragma once

#include "base/result.h"

namespace lockstep::cli {

enum ExitCode : int {
  ok = 0,
  failed = 1,
  bad_input = 2,
  not_found = 3,
  refused = 4,
  timed_out = 5,
  unreachable = 6,
};

int exit_code_of(ErrorKind kind);

// "lockstep: place: message" on standard error, and the exit code for it.
int report(const Error& error);

}  // namespace lockstep::cli
