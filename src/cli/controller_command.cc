#include "cli/controller_command.h"

#include <cstdio>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/exit_codes.h"
#include "cli/signals.h"
#include "controller/metrics.h"
#include "controller/rollout_controller.h"
#include "controller/status_server.h"
#include "controller/upgrade_controller.h"
#include "kube/leader_election.h"
#include "kube/sync_api.h"

namespace lockstep::cli {

namespace {

// Leases and the ledger live there; without it nothing can be done safely.
Result<void> ensure_namespace(ClusterSession& session, const std::string& ns) {
  kube::SyncApi api(*session.api, session.loop);
  auto held = api.get(resource::namespaces, {"", ns});
  if (held) return {};
  if (held.error().kind != ErrorKind::not_found) return fail(held.error());
  auto made = api.create(
      resource::namespaces, "",
      JsonObject{
          {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", JsonObject{{"name", ns}}}});
  if (!made && made.error().kind != ErrorKind::exists) {
    return fail(made.error().at("namespace " + ns));
  }
  return {};
}

kube::LeaderElectionOptions election_options(const ControllerFlags& flags,
                                             const std::string& identity,
                                             controller::UpgradeController& upgrade,
                                             controller::RolloutController& rollouts, Log& log) {
  kube::LeaderElectionOptions options;
  options.lease = {flags.ns, flags.lease};
  options.identity = identity;
  options.on_started_leading = [&upgrade, &rollouts, &log] {
    log.info("leading");
    upgrade.lead();
    rollouts.lead();
  };
  options.on_stopped_leading = [&upgrade, &rollouts, &log] {
    log.warning("no longer leading");
    upgrade.follow();
    rollouts.follow();
  };
  options.on_new_leader = [&log](const std::string& leader) {
    log.info("the leader is", {{"identity", leader}});
  };
  return options;
}

controller::StatusServer::Handlers status_pages(ClusterSession& session,
                                                controller::UpgradeController& upgrade) {
  using controller::StatusAnswer;
  controller::StatusServer::Handlers pages;
  pages["/metrics"] = [&](const std::string&) {
    return StatusAnswer{
        200, controller::render_metrics(upgrade, session.counting.get(), session.loop.now()),
        "text/plain; version=0.0.4; charset=utf-8"};
  };
  // It answers: the loop turns.
  pages["/healthz"] = [](const std::string&) { return StatusAnswer{200, "ok\n"}; };
  pages["/readyz"] = [&](const std::string&) {
    if (upgrade.ready()) return StatusAnswer{200, "ok\n"};
    return StatusAnswer{503, "waits for " + upgrade.watch().missing() + "\n"};
  };
  return pages;
}

}  // namespace

int run_controller(const ControllerFlags& flags) {
  if (flags.mode != "drive") {
    return report(
        Error{ErrorKind::unsupported,
              "only drive is there: conduct leaves the nodes' steps to NVIDIA's controller "
              "and comes with rollouts",
              "--mode " + flags.mode});
  }
  block_signals();
  auto opened = ClusterSession::open(flags.cluster, LogLevel::info);
  if (!opened) return report(opened.error());
  ClusterSession& session = **opened;
  if (auto made = ensure_namespace(session, flags.ns); !made) return report(made.error());

  controller::UpgradeOptions options;
  options.fleet = flags.cluster.fleet();
  options.fleet.rollouts.ns = flags.ns;
  options.ns = flags.ns;
  options.instance = who_am_i();
  options.parallel_writes = flags.parallel_writes;
  options.stopwatch = [&session] { return session.loop.uptime(); };
  controller::UpgradeController upgrade(*session.api, session.loop, session.random, *session.log,
                                        options);
  controller::RolloutOptions rollout_options;
  rollout_options.gates.ns = flags.ns;
  rollout_options.reason_of = [&upgrade](const std::string& node) {
    auto at = upgrade.reasons().find(node);
    return at == upgrade.reasons().end() ? std::string() : at->second.name;
  };
  controller::RolloutController rollouts(*session.api, session.loop, session.random, *session.log,
                                         upgrade.watch(), std::move(rollout_options));
  std::string identity = fmt::format("{}_{}", who_am_i(), session.random.uuid());
  kube::LeaderElection election(*session.api, session.loop, session.random, *session.log,
                                election_options(flags, identity, upgrade, rollouts, *session.log));
  upgrade.start();
  rollouts.start();
  if (flags.elect) {
    election.start();
  } else {
    upgrade.lead();
    rollouts.lead();
  }

  std::unique_ptr<controller::StatusServer> server;
  if (!flags.status_address.empty()) {
    auto listening = controller::StatusServer::listen(
        session.loop, *session.log, flags.status_address, status_pages(session, upgrade));
    if (!listening) return report(listening.error().at("--status-address"));
    server = std::move(*listening);
    session.log->info("metrics and health", {{"port", std::to_string(server->port())}});
  }
  stop_at_signal(session.loop);
  session.loop.run();

  // What was decided is finished, nothing new is begun, and the lease is free for the next.
  session.log->info("stopping");
  upgrade.follow();
  rollouts.follow();
  session.loop.run_until([&] { return upgrade.idle() && rollouts.idle(); }, seconds(5));
  bool released = !flags.elect;
  if (flags.elect) election.stop([&] { released = true; });
  session.loop.run_until([&] { return released; }, seconds(5));
  return ExitCode::ok;
}

}  // namespace lockstep::cli
