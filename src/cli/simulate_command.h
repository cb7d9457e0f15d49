// `lockstep simulate SCENARIO.yaml`: a whole upgrade in virtual time, and whether it went as
// expected. Its other modes are in explore_command.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/explore_command.h"
#include "sim/scenario/scenario.h"

namespace lockstep::cli {

struct SimulateFlags {
  std::string file;
  uint64_t seed = 1;
  int nodes = 0;
  std::string output = "table";
  std::string replay;  // a recorded bake to analyze again, instead of a scenario
  size_t events = 0;  // how many to print in any case; those of a run that fails are printed anyway
  ExploreFlags explore;
  std::vector<std::string> given;  // the flags that the user gave, and "scenario" for the file
};
Result<sim::Scenario> read_scenario_file(const std::string& file);
int run_simulate(const SimulateFlags& flags);

}  // namespace lockstep::cli
