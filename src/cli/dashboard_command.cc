#include "cli/dashboard_command.h"

#include <cstdio>

#include <fmt/format.h>

#include "cli/exit_codes.h"
#include "cli/key_domain.h"
#include "cli/signals.h"

namespace lockstep::cli {

int run_dashboard(const DashboardFlags& flags) {
  block_signals();
  ClusterFlags cluster = flags.cluster;
  auto session = open_in_key_domain(cluster, KeyUse::read);
  if (!session) return report(session.error());
  view::FleetWatch watch(*(*session)->api, (*session)->loop, (*session)->random, *(*session)->log,
                         cluster.fleet());
  // What is wrong with the address or the cluster is said at once, not on the page.
  auto host = DashboardHost::start(**session, cluster, watch, flags.place);
  if (!host) return report(host.error().at("--address"));
  if (auto listed = wait_for_fleet(**session, watch); !listed) return report(listed.error());
  fmt::print("The dashboard is at {} until Ctrl-C.\n", (*host)->url());
  std::fflush(stdout);
  stop_at_signal((*session)->loop);
  (*session)->loop.run();
  return ExitCode::ok;
}

}  // namespace lockstep::cli
