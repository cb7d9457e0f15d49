// The flags of `lockstep pause`, `resume`, `retry`, `skip` and `unskip`.
#pragma once

#include "cli/steer_command.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

struct SteeringFlags {
  PauseFlags pause;
  PauseFlags resume;
  SteerFlags retry;
  SteerFlags skip;
  SteerFlags unskip;
};

// `result` becomes its exit code when it is the one that is asked for.
void add_steering(CLI::App& app, SteeringFlags& flags, int& result);

}  // namespace lockstep::cli
