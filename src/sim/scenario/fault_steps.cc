#include "sim/scenario/fault_steps.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fleet/keys.h"
#include "sim/scenario/tenants.h"

namespace lockstep::sim {

namespace {

enum class Draws {
  yes,
  length,
  pause,
  relabel,
  replica,
  crash,
  clock,
  version,
  machine,
  imitation
};

struct StepKind {
  std::string_view name;
  bool on_node;
  Draws draws = Draws::yes;
  Duration least{0};  // of a length
  Duration most{0};
};

// New ones come last: what a seed draws of the others stays.
constexpr std::array<StepKind, 31> step_kinds = {{
    {"rebootNodes", true, Draws::length, seconds(30), minutes(5)},
    {"hangKubelets", true, Draws::length, seconds(5), minutes(10)},
    {"notReadyFor", true, Draws::length, seconds(10), minutes(10)},
    {"recreateNodes", true, Draws::length, seconds(30), minutes(5)},
    {"deleteNodes", true},
    {"recreateDriverPods", true},
    {"crashDriver", true},
    {"driverCrashes", true, Draws::machine},
    {"driverNeverReady", true, Draws::machine},
    {"imagePullFails", true, Draws::machine},
    {"loadsInstead", true, Draws::machine},
    {"validationFails", true, Draws::machine},
    {"cordon", true},
    {"uncordon", true},
    {"skip", true},
    {"unskip", true},
    {"retry", true},
    {"relabel", true, Draws::relabel},
    {"recreateDaemonSet", false},
    {"pause", false, Draws::pause},
    {"resume", false},
    {"setVersion", false, Draws::version},
    {"clockStep", false, Draws::clock},
    {"crash", false, Draws::crash},
    {"restart", false},
    {"outage", false, Draws::length, seconds(30), minutes(5)},
    {"partition", false, Draws::length, seconds(30), minutes(10)},
    {"silenceWatches", false},
    {"dropWatches", false},
    {"olderReplica", false, Draws::replica},
    {"imitate", false, Draws::imitation},
}};

Json crash_value(Random& random, FaultSteps& steps) {
  JsonObject crash{{"afterWrite", static_cast<int64_t>(1 + random.below(30))}};
  if (steps.chance(0.5)) {
    crash["away"] = format_duration(steps.between(seconds(10), minutes(10)));
  }
  return crash;
}

// An hour either way, and sometimes years: a clock that was never set.
Json clock_value(FaultSteps& steps) {
  Duration by = steps.chance(0.1) ? hours(24 * 400) : steps.between(seconds(1), hours(1));
  return Json(format_duration(steps.chance(0.5) ? by : -by));
}

Json replica_value(FaultSteps& steps) {
  return JsonObject{{"age", format_duration(steps.between(seconds(10), minutes(5)))},
                    {"for", format_duration(steps.between(seconds(30), minutes(10)))}};
}

// A user's change of the state label.
Json relabel_value(FaultSteps& steps) {
  Json value = steps.chance(0.5) ? Json(nullptr) : Json("garbage");
  return JsonObject{{fleet::Keys().state, std::move(value)}};
}

// With the new driver, or with any driver if no version changes.
void set_machine(std::string_view fault, const FaultStepScope& scope, Interference& step) {
  const std::string version = scope.to_version.empty() ? "*" : scope.to_version;
  NodeBehaviour& machine = step.machine;
  if (fault == "driverCrashes") machine.driver_crashes = version;
  if (fault == "driverNeverReady") machine.driver_never_ready = version;
  if (fault == "imagePullFails") machine.image_pull_fails = version;
  if (fault == "validationFails") machine.validation_fails = version;
  if (fault == "loadsInstead") machine.loads_instead = scope.from_version;
  step.action = "setMachine";
  step.value = JsonObject{{fault, fault == "loadsInstead" ? scope.from_version : version}};
}

}  // namespace

Duration FaultSteps::up_to(Duration most) {
  auto whole = static_cast<uint64_t>(in_seconds(most));
  return seconds(static_cast<int64_t>(random_.below(whole + 1)));
}

int FaultSteps::some_node() {
  return static_cast<int>(random_.below(static_cast<uint64_t>(scope_.nodes))) + 1;
}

Interference FaultSteps::draw(std::string_view name) {
  const StepKind& kind = *std::find_if(step_kinds.begin(), step_kinds.end(),
                                       [&](const StepKind& known) { return known.name == name; });
  Interference step;
  step.action = std::string(name);
  step.value = true;
  switch (kind.draws) {
    case Draws::yes:
      break;
    case Draws::length:
      step.value = Json(format_duration(between(kind.least, kind.most)));
      break;
    case Draws::pause:
      step.value = Json("by a user, for a while");
      break;
    case Draws::relabel:
      step.value = relabel_value(*this);
      break;
    case Draws::replica:
      step.value = replica_value(*this);
      break;
    case Draws::crash:
      step.value = crash_value(random_, *this);
      break;
    case Draws::clock:
      step.value = clock_value(*this);
      break;
    case Draws::version:
      step.value = Json(chance(0.5) ? scope_.from_version : scope_.to_version);
      break;
    case Draws::imitation:
      step.value = Json(imitations()[random_.below(imitations().size())]);
      break;
    case Draws::machine:
      set_machine(name, scope_, step);
      break;
  }
  if (kind.on_node) step.nodes.numbers.push_back(some_node());
  return step;
}

std::vector<FaultStepKind> fault_step_kinds() {
  std::vector<FaultStepKind> all;
  for (const StepKind& kind : step_kinds) all.push_back({kind.name, kind.on_node});
  return all;
}

std::vector<Interference> end_of_troubles(Duration at) {
  Interference step;
  step.action = "heal";
  step.value = true;
  step.at = at;
  std::vector<Interference> steps{step};
  // What failed is tried again, and what waited for that after it.
  step.rest = true;
  steps.insert(steps.end(), 3, step);
  return steps;
}

}  // namespace lockstep::sim
