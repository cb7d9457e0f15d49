// What is printed of a run that went wrong: what, what led to it, and the smallest case that still
// does.
#pragma once

#include <functional>
#include <string>

#include "sim/explore/shrink.h"
#include "sim/scenario/scenario_run.h"

namespace lockstep::cli {

void print_findings(const sim::Findings& findings);
// `wrong` is what the case is about: what is left of it still fails in that way. `run` runs one.
void print_shrunk(const sim::Case& failing, const std::string& wrong,
                  const std::function<sim::Findings(const sim::Case&)>& run);

}  // namespace lockstep::cli
