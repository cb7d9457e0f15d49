// `lockstep simulate SCENARIO.yaml`: a whole upgrade in virtual time, and whether it went as
// expected.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::cli {

struct SimulateFlags {
  std::string file;
  uint64_t seed = 1;
  int nodes = 0;
  std::string output = "table";
};
int run_simulate(const SimulateFlags& flags);

}  // namespace lockstep::cli
