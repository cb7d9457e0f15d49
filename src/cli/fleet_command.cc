#include "cli/fleet_command.h"

#include <cstdio>
#include <thread>

#include <fmt/format.h>

#include "cli/exit_codes.h"
#include "cli/signals.h"
#include "kube/sync_api.h"
#include "sim/actors/simulated_fleet.h"

namespace lockstep::cli {

namespace {

void say_what_was_harmed(const std::vector<sim::Accident>& accidents) {
  for (const sim::Accident& accident : accidents) {
    fmt::print("{} {} on {}: {}\n", format_rfc3339(accident.at), accident.pod.text(), accident.node,
               accident.what);
  }
  fmt::print("GPU pods that lost their driver while they ran: {}\n", accidents.size());
}

}  // namespace

int run_fleet(const FleetFlags& flags) {
  block_signals();
  auto session = ClusterSession::open(flags.cluster, LogLevel::info);
  if (!session) return report(session.error());
  ClusterSession& parts = **session;
  // The fleet itself would go on trying: a cluster that is not there is said at once.
  auto reached = kube::SyncApi(*parts.api, parts.loop).list(kube::list(resource::nodes), 1);
  if (!reached) return report(reached.error());
  sim::SimulatedFleetOptions options;
  options.fleet.nodes = flags.nodes;
  options.fleet.gate_namespace = false;
  options.fleet.driver_version = flags.driver_version;
  options.fleet.workloads.deployment_replicas = flags.work;
  options.kubelets.latencies.speed = flags.speed;
  options.kubelets.lease_interval = seconds(10);
  if (!flags.gate_fails.empty()) {
    for (int index = 0; index < flags.nodes; ++index) {
      options.kubelets.behaviours[sim::node_name(index)].gate_fails = flags.gate_fails;
    }
  }
  if (flags.real_control_plane) options.actors = sim::Actors::beside_controllers();
  if (flags.nodes_only) options.actors = sim::Actors::nodes_only();
  sim::SimulatedFleet fleet({*parts.api, parts.loop, parts.random, *parts.log}, options);
  fleet.start();
  if (!parts.loop.run_until([&] { return fleet.running(); }, minutes(2))) {
    if (fleet.trouble()) return report(*fleet.trouble());
    return report(Error{ErrorKind::timed_out, "the fleet's objects could not be loaded in 2m", ""});
  }
  fmt::print("{} simulated GPU nodes run. Ctrl-C ends them.\n", flags.nodes);
  std::fflush(stdout);
  stop_at_signal(parts.loop);
  parts.loop.run();
  say_what_was_harmed(fleet.kubelets().accidents());
  return ExitCode::ok;
}

}  // namespace lockstep::cli
