#include "sim/explore/fault_kinds.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace lockstep::sim {

namespace {

using Weights = kube::FaultWeights;

template <auto field>
bool has(const Scenario& scenario) {
  return scenario.controller_weights &&
         (*scenario.controller_weights).*field > decltype((*scenario.controller_weights).*field){};
}

bool any_step(const Scenario& scenario, std::initializer_list<std::string_view> actions) {
  return std::any_of(scenario.steps.begin(), scenario.steps.end(), [&](const auto& step) {
    return std::find(actions.begin(), actions.end(), step.action) != actions.end();
  });
}

template <auto field>
bool any_machine(const Scenario& scenario) {
  return std::any_of(scenario.machines.begin(), scenario.machines.end(),
                     [](const auto& machine) { return !(machine.second.*field).empty(); });
}

bool has_several_lags(const Scenario& scenario) {
  return scenario.controller_weights && scenario.controller_weights->watch_lag_of.size() > 1;
}

// Another one than the upgrade's own, and after that once more.
bool changes_version(const Scenario& scenario, bool back) {
  return std::any_of(scenario.steps.begin(), scenario.steps.end(), [&](const auto& step) {
    return step.action == "setVersion" &&
           (as_text(&step.value) == scenario.fleet.driver_version) == back;
  });
}

bool has_blocking_budget(const Scenario& scenario) {
  const WorkloadOptions& work = scenario.fleet.workloads;
  return work.deployment_replicas > 0 && work.min_available >= work.deployment_replicas;
}

bool has_late_slices(const Scenario& scenario) {
  return std::any_of(scenario.machines.begin(), scenario.machines.end(),
                     [](const auto& machine) { return machine.second.slices_late > Duration(0); });
}

using Of = const Scenario&;
constexpr std::array<FaultKind, 43> kinds = {{
    {"request lost", has<&Weights::request_lost>},
    {"request late", has<&Weights::request_late>},
    {"reply lost", has<&Weights::reply_lost>},
    {"409", has<&Weights::conflict>},
    {"410 of a list", has<&Weights::expired>},
    {"410 of a watch", has<&Weights::watch_expired>},
    {"429", has<&Weights::throttled>},
    {"500", has<&Weights::server_error>},
    {"latency", has<&Weights::latency>},
    {"watch lag", has<&Weights::watch_lag>},
    {"watch lag by resource", has_several_lags},
    {"watch refused", has<&Weights::watch_refused>},
    {"watch dropped", has<&Weights::watch_dropped>},
    {"silent watch",
     [](Of of) { return has<&Weights::watch_silent>(of) || any_step(of, {"silenceWatches"}); }},
    {"older replica", has<&Weights::stale_replica>},
    {"reconnect to an older replica", [](Of of) { return any_step(of, {"olderReplica"}); }},
    {"list cut", has<&Weights::list_cut>},
    {"node re-created", [](Of of) { return any_step(of, {"recreateNodes"}); }},
    {"driver pod re-created", [](Of of) { return any_step(of, {"recreateDriverPods"}); }},
    {"DaemonSet re-created", [](Of of) { return any_step(of, {"recreateDaemonSet"}); }},
    {"clock step", [](Of of) { return any_step(of, {"clockStep"}); }},
    {"controller killed after a write", [](Of of) { return any_step(of, {"crash"}); }},
    {"two leaders", [](Of of) { return of.controllers > 1; }},
    {"API server away", [](Of of) { return any_step(of, {"outage"}); }},
    {"controller cut off", [](Of of) { return any_step(of, {"partition"}); }},
    {"the fleet's own requests fail",
     [](Of of) { return of.fleet_weights && of.fleet_weights->request_lost > 0; }},
    {"node vanishes", [](Of of) { return any_step(of, {"deleteNodes"}); }},
    {"node reboots", [](Of of) { return any_step(of, {"rebootNodes"}); }},
    {"node NotReady", [](Of of) { return any_step(of, {"notReady", "notReadyFor"}); }},
    {"kubelet hangs", [](Of of) { return any_step(of, {"hangKubelets"}); }},
    {"driver does not load",
     [](Of of) {
       return any_machine<&NodeBehaviour::driver_crashes>(of) ||
              any_machine<&NodeBehaviour::driver_never_ready>(of) ||
              any_machine<&NodeBehaviour::image_pull_fails>(of);
     }},
    {"wrong driver loads", any_machine<&NodeBehaviour::loads_instead>},
    {"driver crashes later", [](Of of) { return any_step(of, {"crashDriver"}); }},
    {"validation fails", any_machine<&NodeBehaviour::validation_fails>},
    {"devices published late", has_late_slices},
    {"budget blocks", has_blocking_budget},
    {"user cordons", [](Of of) { return any_step(of, {"cordon"}); }},
    {"user uncordons", [](Of of) { return any_step(of, {"uncordon"}); }},
    {"user relabels", [](Of of) { return any_step(of, {"relabel"}); }},
    {"user pauses", [](Of of) { return any_step(of, {"pause"}); }},
    {"tenant imitates the driver", [](Of of) { return any_step(of, {"imitate"}); }},
    {"version changed again", [](Of of) { return changes_version(of, false); }},
    {"version changed back", [](Of of) { return changes_version(of, true); }},
}};

}  // namespace

std::span<const FaultKind> fault_kinds() { return kinds; }

}  // namespace lockstep::sim
