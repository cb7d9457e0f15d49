// The modes of `lockstep simulate` that search for failures: --random goes through seeds,
// --exhaustive through every write and every event of a scenario, --sequences through every change
// in every state. --random stops at its first failure unless it is to keep going, and each prints
// what reproduces a failure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::cli {

struct ExploreFlags {
  bool random = false;
  bool rollouts = false;  // of --random
  bool exhaustive = false;
  bool sequences = false;
  uint64_t seeds = 1;  // how many, from --seed on
  uint64_t every = 1;  // run every Nth: for several processes
  bool pairs = false;  // of --exhaustive: two crashes, at every two places
  bool no_shrinking = false;
  bool print = false;                // of --random: the scenario itself
  bool calm = false;                 // for --print: its fault-free run
  bool keep_going = false;           // of --random: after a failure, too
  std::string only;                  // of --sequences: the one of this name
  std::vector<std::string> crashes;  // "7", "7+420s"
  std::vector<std::string> freezes;  // "pods:7", "pods:7!"
};

int run_random_mode(const ExploreFlags& flags, uint64_t first_seed);
int run_exhaustive_mode(const ExploreFlags& flags, const std::string& file, uint64_t seed,
                        int nodes);
int run_sequences_mode(const ExploreFlags& flags, uint64_t seed);

}  // namespace lockstep::cli
