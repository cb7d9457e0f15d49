// The exhaustive mode: one small scenario, run once without faults, and then once for every place
// at which its controller can be disturbed: killed after each of its writes, and shown a stale view
// of each kind of object from each event on. All of them, without sampling. Every run must keep the
// invariants, come to rest, stop writing, and end as the fault-free run did.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/scenario_run.h"

namespace lockstep::sim {

struct ExhaustiveOptions {
  uint64_t seed = 1;
  int nodes = 3;
  bool crashes = true;       // after every write, back at once
  bool absences = true;      // after every write, back after `away`
  bool freezes = true;       // from every event on
  bool stale_starts = true;  // from every event on, with a crash at that moment
  bool pairs = false;        // after every write, and after every later write of the next life
  Duration away = minutes(7);
  Duration length = minutes(2);
};

// What went wrong at one place.
struct Finding {
  Disturbances disturbances;
  std::vector<std::string> wrong;
  std::vector<std::string> last_events;
};

struct ExhaustiveReport {
  std::string scenario;
  uint64_t writes = 0;     // of the calm run
  uint64_t sightings = 0;  // events that its controller saw
  uint64_t runs = 0;
  std::vector<Finding> findings;
};

// Every place, from what the calm run counted.
std::vector<Disturbances> every_disturbance(const RunSummary& calm,
                                            const ExhaustiveOptions& options);

// What a disturbed run must not show; empty: no difference.
std::vector<std::string> compare_with_calm(const RunSummary& run, const RunSummary& calm);

// Stops after `most_findings` findings.
ExhaustiveReport explore_all(const Scenario& scenario, const ExhaustiveOptions& options,
                             size_t most_findings = 5);

// At one place only; an error says which places there are if it is not one of them.
Result<ExhaustiveReport> explore_one(const Scenario& scenario, const ExhaustiveOptions& options,
                                     const Disturbances& disturbances);

// "--crash-after 12", "--freeze pods:7": what reproduces it.
std::string flags_of(const Disturbances& disturbances);
// "7", "7+420s": a crash after the 7th write, and the time without a controller. "pods:7",
// "pods:7!": a view that is stale from the 7th event on, and the crash at that moment.
Result<Crash> read_crash(std::string_view text);
Result<Freeze> read_freeze(std::string_view text);

}  // namespace lockstep::sim
