// Makes a case that fails smaller while it still fails: fewer nodes, steps, faults, machines, less
// work. Pure: what "still fails" means is handed in, and usually runs the case again.
#pragma once

#include <functional>
#include <string>

#include "sim/scenario/scenario_run.h"

namespace lockstep::sim {

// One run, as data.
struct Case {
  Scenario scenario;
  RunOptions options;

  int nodes() const { return options.nodes > 0 ? options.nodes : scenario.fleet.nodes; }
};

using StillFails = std::function<bool(const Case&)>;

struct Shrunk {
  Case smallest;
  int tries = 0;
};

// Goes on until nothing more can be left out, or `most_tries` cases were tried. The case itself is
// assumed to fail.
Shrunk shrink(Case failing, const StillFails& still_fails, int most_tries = 300);

}  // namespace lockstep::sim
