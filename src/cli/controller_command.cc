#include "cli/controller_command.h"

#include <cstdio>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/exit_codes.h"
#include "cli/signals.h"
#include "controller/failure_controller.h"
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

// The controllers of one process, which lead and follow together. The others look at the fleet
// through the watches of the first.
struct Controllers {
  controller::UpgradeController upgrade;
  controller::RolloutController rollouts;
  controller::FailureController failures;

  Controllers(ClusterSession& session, const ControllerFlags& flags)
      : upgrade(*session.api, session.loop, session.random, *session.log,
                upgrade_options(session, flags)),
        rollouts(*session.api, session.loop, session.random, *session.log, upgrade.watch(),
                 rollout_options(flags)),
        failures(*session.api, session.loop, session.random, *session.log, upgrade.watch(),
                 failure_options(flags)) {}

  void start() {
    upgrade.start();
    rollouts.start();
    failures.start();
  }
  void lead() {
    upgrade.lead();
    rollouts.lead();
    failures.lead();
  }
  void follow() {
    upgrade.follow();
    rollouts.follow();
    failures.follow();
  }
  bool idle() const { return upgrade.idle() && rollouts.idle() && failures.idle(); }

 private:
  static controller::UpgradeOptions upgrade_options(ClusterSession& session,
                                                    const ControllerFlags& flags) {
    controller::UpgradeOptions options;
    options.fleet = flags.cluster.fleet();
    options.fleet.rollouts.ns = flags.ns;
    options.ns = flags.ns;
    options.instance = who_am_i();
    options.parallel_writes = flags.parallel_writes;
    options.stopwatch = [&session] { return session.loop.uptime(); };
    return options;
  }
  controller::RolloutOptions rollout_options(const ControllerFlags& flags) {
    controller::RolloutOptions options;
    options.gates.ns = flags.ns;
    options.reason_of = [this](const std::string& node) {
      auto at = upgrade.reasons().find(node);
      return at == upgrade.reasons().end() ? std::string() : at->second.name;
    };
    return options;
  }
  static controller::FailureOptions failure_options(const ControllerFlags& flags) {
    controller::FailureOptions options;
    options.instance = who_am_i();
    options.plugins = flags.cluster.fleet().clients;
    if (flags.on_bad_config == "fail") options.on_bad_config = upgrade::OnBadConfig::fail;
    return options;
  }
};

kube::LeaderElectionOptions election_options(const ControllerFlags& flags,
                                             const std::string& identity, Controllers& controllers,
                                             Log& log) {
  kube::LeaderElectionOptions options;
  options.lease = {flags.ns, flags.lease};
  options.identity = identity;
  options.on_started_leading = [&controllers, &log] {
    log.info("leading");
    controllers.lead();
  };
  options.on_stopped_leading = [&controllers, &log] {
    log.warning("no longer leading");
    controllers.follow();
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

  Controllers controllers(session, flags);
  std::string identity = fmt::format("{}_{}", who_am_i(), session.random.uuid());
  kube::LeaderElection election(*session.api, session.loop, session.random, *session.log,
                                election_options(flags, identity, controllers, *session.log));
  controllers.start();
  if (flags.elect) {
    election.start();
  } else {
    controllers.lead();
  }

  std::unique_ptr<controller::StatusServer> server;
  if (!flags.status_address.empty()) {
    auto listening =
        controller::StatusServer::listen(session.loop, *session.log, flags.status_address,
                                         status_pages(session, controllers.upgrade));
    if (!listening) return report(listening.error().at("--status-address"));
    server = std::move(*listening);
    session.log->info("metrics and health", {{"port", std::to_string(server->port())}});
  }
  stop_at_signal(session.loop);
  session.loop.run();

  // What was decided is finished, nothing new is begun, and the lease is free for the next.
  session.log->info("stopping");
  controllers.follow();
  session.loop.run_until([&] { return controllers.idle(); }, seconds(5));
  bool released = !flags.elect;
  if (flags.elect) election.stop([&] { released = true; });
  session.loop.run_until([&] { return released; }, seconds(5));
  return ExitCode::ok;
}

}  // namespace lockstep::cli
