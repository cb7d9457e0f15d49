// What may happen to a fleet and what users do to it, one random step of each kind. The
// random plan (fault_plan.h) draws from these, and so do the weights of a scenario
// (world_weights.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "sim/scenario/scenario.h"
#include "world/random.h"

namespace lockstep::sim {

struct FaultStepScope {
  int nodes = 5;
  // Between which users change their minds, and with which drivers fail; may be empty.
  std::string from_version;
  std::string to_version;
};

class FaultSteps {
 public:
  // Both must outlive it.
  FaultSteps(Random& random, const FaultStepScope& scope) : random_(random), scope_(scope) {}

  // A step of a kind of fault_step_kinds(), without a time, and on a random node if it needs one.
  // The same random numbers give the same step.
  Interference draw(std::string_view kind);

  bool chance(double probability) { return random_.fraction() < probability; }
  // In whole seconds.
  Duration up_to(Duration most);
  Duration between(Duration least, Duration most) { return least + up_to(most - least); }
  int some_node();

 private:
  Random& random_;
  const FaultStepScope& scope_;
};

// A kind has the name of its action, or of what is wrong with a machine from then on.
struct FaultStepKind {
  std::string_view name;
  bool on_node;  // each affects one node
};
std::vector<FaultStepKind> fault_step_kinds();

// Users repair what broke: everything is healed at that time, and then, each time that nothing
// moves any more, what has failed is retried.
std::vector<Interference> end_of_troubles(Duration at);

}  // namespace lockstep::sim
