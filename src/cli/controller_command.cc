#include "cli/controller_command.h"

#include <cstdio>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/dashboard_host.h"
#include "cli/exit_codes.h"
#include "cli/gate_guard.h"
#include "cli/signals.h"
#include "controller/failure_controller.h"
#include "controller/git_matrix.h"
#include "controller/metrics.h"
#include "controller/notice_source.h"
#include "controller/rollout_controller.h"
#include "controller/upgrade_controller.h"
#include "fleet/key_domain.h"
#include "http/status_pages.h"
#include "kube/leader_election.h"
#include "kube/sync_api.h"
#include "notify/http_sender.h"
#include "rollout/job_gate.h"

namespace lockstep::cli {

namespace {

constexpr std::string_view pod_security = "pod-security.kubernetes.io/enforce";

// Made where it is missing.
Result<void> ensure_there(kube::SyncApi& api, const ResourceType& type, const ObjectKey& key,
                          JsonObject labels) {
  auto held = api.get(type, key);
  if (held) return {};
  if (held.error().kind != ErrorKind::not_found) return fail(held.error());
  JsonObject metadata{{"name", key.name}, {"labels", std::move(labels)}};
  auto made = api.create(type, key.ns,
                         JsonObject{{"apiVersion", type.api_version()},
                                    {"kind", type.kind},
                                    {"metadata", std::move(metadata)}});
  if (!made && made.error().kind != ErrorKind::exists) {
    return fail(made.error().at(fmt::format("{} {}", type.kind, key.text())));
  }
  return {};
}

// Leases and the ledger live there; without it nothing can be done safely.
Result<void> ensure_namespace(ClusterSession& session, const std::string& ns) {
  kube::SyncApi api(*session.api, session.loop);
  return ensure_there(api, resource::namespaces, {"", ns}, {{pod_security, "restricted"}});
}

// The namespace and account of gates, which the chart brings. Without them only gates
// fail.
void ensure_gate_place(ClusterSession& session, const std::string& ns) {
  static const ResourceType accounts{"", "v1", "ServiceAccount", "serviceaccounts", true};
  kube::SyncApi api(*session.api, session.loop);
  // Built-in gates are privileged: they open every GPU of their node.
  const JsonObject ours{{"app.kubernetes.io/managed-by", "lockstep"}};
  JsonObject privileged = ours;
  privileged[pod_security] = "privileged";
  auto made = ensure_there(api, resource::namespaces, {"", ns}, std::move(privileged));
  if (made) made = ensure_there(api, accounts, {ns, std::string(rollout::gate_account)}, ours);
  if (made) return;
  session.log->warning("gates cannot run: their namespace or service account is missing",
                       {{"namespace", ns}, {"error", made.error().text()}});
}

// Notifies users; not there without an address.
struct Notices {
  std::unique_ptr<notify::HttpSender> sender;
  std::unique_ptr<notify::Notifier> notifier;
  std::unique_ptr<controller::NoticeSource> source;

  static Result<Notices> open(ClusterSession& session, const ControllerFlags& flags,
                              const http::AddressGuard& guard, view::FleetWatch& watch) {
    Notices notices;
    if (flags.notify_address.empty()) return notices;
    auto sender =
        notify::HttpSender::create(flags.notify_address, system_environment(), guard, session.loop);
    if (!sender) return fail(sender.error().at("--notify-url"));
    notices.sender = std::move(*sender);
    notify::NotifierOptions options;
    options.form = notify::form_of(flags.notify_form).value_or(notify::Form::json);
    options.cluster = flags.notify_cluster;
    notices.notifier = std::make_unique<notify::Notifier>(*notices.sender, session.loop,
                                                          session.random, *session.log, options);
    notices.source =
        std::make_unique<controller::NoticeSource>(watch, session.loop, *notices.notifier);
    return notices;
  }
  void lead() {
    if (source) source->lead();
  }
  void follow() {
    if (source) source->follow();
  }
  bool idle() const { return !notifier || notifier->idle(); }
  std::string metrics() const { return notifier ? notify::metrics_of(notifier->counts()) : ""; }
};

// The controllers of one process, which lead and follow together. The others read the watches of
// the first. Where NVIDIA's controller takes the nodes' steps (conduct), the first is missing, and
// the watch is separate.
struct Controllers {
  controller::GitMatrix git;
  controller::HttpGateAsker asker;
  std::unique_ptr<controller::UpgradeController> upgrade;
  std::unique_ptr<view::FleetWatch> own_watch;
  view::FleetWatch& watch;
  controller::RolloutController rollouts;
  controller::FailureController failures;
  Notices notices;

  Controllers(ClusterSession& session, const ControllerFlags& flags,
              git::AllowedRepositories allowed, const http::AddressGuard& guard)
      : git(session.loop, git_options(std::move(allowed))),
        asker(system_environment(), guard, session.loop),
        upgrade(flags.conducts() ? nullptr
                                 : std::make_unique<controller::UpgradeController>(
                                       *session.api, session.loop, session.random, *session.log,
                                       upgrade_options(session, flags))),
        own_watch(flags.conducts() ? std::make_unique<view::FleetWatch>(
                                         *session.api, session.loop, session.random, *session.log,
                                         upgrade_options(session, flags).fleet)
                                   : nullptr),
        watch(upgrade ? upgrade->watch() : *own_watch),
        rollouts(*session.api, session.loop, session.random, *session.log, watch,
                 rollout_options(flags)),
        failures(*session.api, session.loop, session.random, *session.log, watch,
                 failure_options(flags)) {}

  void start() {
    if (upgrade) upgrade->start();
    if (own_watch) own_watch->start();
    rollouts.start();
    failures.start();
  }
  void lead() {
    if (upgrade) upgrade->lead();
    rollouts.lead();
    failures.lead();
    notices.lead();
  }
  void follow() {
    if (upgrade) upgrade->follow();
    rollouts.follow();
    failures.follow();
    notices.follow();
  }
  bool idle() const { return (!upgrade || upgrade->idle()) && rollouts.idle() && failures.idle(); }

 private:
  static controller::UpgradeOptions upgrade_options(ClusterSession& session,
                                                    const ControllerFlags& flags) {
    controller::UpgradeOptions options;
    options.fleet = flags.cluster.fleet();
    options.fleet.rollouts.ns = flags.ns;
    options.fleet.rollouts.allows_job_gates = flags.job_gates;
    // Earlier versions installed our own plugin beside the controller.
    auto& plugins = options.fleet.clients.namespaces;
    if (!plugins.empty()) plugins.push_back(flags.ns);
    options.ns = flags.ns;
    options.instance = who_am_i();
    options.parallel_writes = flags.parallel_writes;
    options.stopwatch = [&session] { return session.loop.uptime(); };
    return options;
  }
  static controller::GitMatrixOptions git_options(git::AllowedRepositories allowed) {
    controller::GitMatrixOptions options;
    options.allowed = std::move(allowed);
    options.environment = system_environment();
    return options;
  }
  controller::RolloutOptions rollout_options(const ControllerFlags& flags) {
    controller::RolloutOptions options;
    options.instance = who_am_i();
    options.git = &git;
    options.asker = &asker;
    options.conduct = flags.conducts();
    options.gates.ns = flags.gate_namespace;
    options.gates.allows_job_gates = flags.job_gates;
    if (!flags.gate_image.empty()) options.gates.image = flags.gate_image;
    if (!upgrade) return options;
    options.reason_of = [this](const std::string& node) { return upgrade->reason_of(node); };
    return options;
  }
  static controller::FailureOptions failure_options(const ControllerFlags& flags) {
    controller::FailureOptions options;
    options.instance = who_am_i();
    options.bad_config_words = flags.bad_config_words;
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
  const view::FleetWatchOptions fleet = flags.cluster.fleet();
  options.annotations = {
      {std::string(fleet::key_domain_annotation), fleet.key_domain},
      {std::string(fleet::driver_namespaces_annotation), join(fleet.drivers.namespaces, ",")}};
  options.on_started_leading = [&controllers, &log] {
    log.info("leading");
    controllers.lead();
  };
  options.on_stopped_leading = [&controllers, &log] {
    log.warning("no longer the leader");
    controllers.follow();
  };
  options.on_new_leader = [&log](const std::string& leader) {
    log.info("the leader is", {{"identity", leader}});
  };
  return options;
}

http::StatusPages status_pages(ClusterSession& session, Controllers& controllers) {
  http::StatusPages pages;
  pages["/metrics"] = [&] {
    std::string text = controllers.notices.metrics() + controllers.failures.metrics();
    // In coordinate mode the upgrades are NVIDIA's, and their metrics too.
    if (controllers.upgrade) {
      text = controller::render_metrics(*controllers.upgrade, session.counting.get(),
                                        session.loop.now()) +
             text;
    }
    return http::metrics_page(std::move(text));
  };
  // It answers: the loop turns.
  pages["/healthz"] = [] { return http::readiness(true); };
  pages["/readyz"] = [&] {
    return http::readiness(controllers.watch.synced(), "waits for " + controllers.watch.missing());
  };
  return pages;
}

}  // namespace

int run_controller(const ControllerFlags& flags) {
  if (flags.conducts() && flags.cluster.fleet().key_domain != "nvidia.com") {
    return report(Error{ErrorKind::invalid,
                        "--mode coordinate needs the labels of nvidia.com, the only ones that "
                        "NVIDIA's upgrade controller reads. Omit --key-domain, or use --mode drive",
                        ""});
  }
  auto allowed = git::AllowedRepositories::read(
      flags.git_repositories, flags.allow_local_git ? git::Local::accepted : git::Local::refused);
  if (!allowed) return report(allowed.error().at("--git-repository"));
  auto guard = gate_guard(flags, system_environment());
  if (!guard) return report(guard.error());
  block_signals();
  auto opened = ClusterSession::open(flags.cluster, LogLevel::info);
  if (!opened) return report(opened.error());
  ClusterSession& session = **opened;
  if (auto made = ensure_namespace(session, flags.ns); !made) return report(made.error());
  ensure_gate_place(session, flags.gate_namespace);

  Controllers controllers(session, flags, *allowed, *guard);
  auto notices = Notices::open(session, flags, *guard, controllers.watch);
  if (!notices) return report(notices.error());
  controllers.notices = std::move(*notices);
  const std::string identity = flags.identity.empty()
                                   ? fmt::format("{}_{}", who_am_i(), session.random.uuid())
                                   : flags.identity;
  kube::LeaderElection election(*session.api, session.loop, session.random, *session.log,
                                election_options(flags, identity, controllers, *session.log));
  controllers.start();
  if (flags.elect) {
    election.start();
  } else {
    controllers.lead();
  }

  std::unique_ptr<http::Server> server;
  if (!flags.status_address.empty()) {
    auto listening = http::serve_status(session.loop, *session.log, flags.status_address,
                                        status_pages(session, controllers));
    if (!listening) return report(listening.error().at("--status-address"));
    server = std::move(*listening);
    session.log->info("metrics and health", {{"port", std::to_string(server->port())}});
  }
  std::unique_ptr<DashboardHost> dashboard;
  if (!flags.dashboard_address.empty()) {
    DashboardPlace place;
    place.address = flags.dashboard_address;
    place.rollouts_repositories = std::move(*allowed);
    auto started = DashboardHost::start(session, flags.cluster, controllers.watch, place);
    if (!started) return report(started.error().at("--dashboard-address"));
    dashboard = std::move(*started);
    session.log->info("dashboard", {{"url", dashboard->url()}});
  }
  stop_at_signal(session.loop);
  session.loop.run();

  // What was decided is finished, nothing new is begun, and the lease is free for the next.
  session.log->info("stopping");
  controllers.follow();
  session.loop.run_until([&] { return controllers.idle() && controllers.notices.idle(); },
                         seconds(5));
  bool released = !flags.elect;
  if (flags.elect) election.stop([&] { released = true; });
  session.loop.run_until([&] { return released; }, seconds(5));
  return ExitCode::ok;
}

}  // namespace lockstep::cli
