#include "cli/exit_codes.h"

#include <cstdio>

#include <fmt/format.h>

#include "cli/output.h"

namespace lockstep::cli {

int exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid:
    case ErrorKind::too_large:
    case ErrorKind::unsupported:
      return ExitCode::bad_input;
    case ErrorKind::not_found:
      return ExitCode::not_found;
    case ErrorKind::unauthorized:
    case ErrorKind::forbidden:
      return ExitCode::refused;
    case ErrorKind::timed_out:
      return ExitCode::timed_out;
    case ErrorKind::unreachable:
    case ErrorKind::throttled:
      return ExitCode::unreachable;
    case ErrorKind::exists:
    case ErrorKind::conflict:
    case ErrorKind::expired:
    case ErrorKind::cancelled:
    case ErrorKind::internal:
      return ExitCode::failed;
  }
  return ExitCode::failed;
}

int report(const Error& error) {
  print_text(fmt::format("lockstep: {}\n", error.text()), stderr);
  return exit_code_of(error.kind);
}

}  // namespace lockstep::cli
