#include "cli/cluster_session.h"

#include <pwd.h>
#include <unistd.h>

#include <fmt/format.h>

namespace lockstep::cli {

namespace {

// From the machine's own copy of the tz database.
Result<rollout::TimeZone> system_time_zone(const std::string& name) {
  bool is_plain = !name.empty() && name.front() != '/' && name.find("..") == std::string::npos;
  if (!is_plain) return fail(ErrorKind::invalid, "is not a valid time zone name");
  SystemFiles files;
  auto bytes = files.read("/usr/share/zoneinfo/" + name);
  if (!bytes) {
    return fail(ErrorKind::not_found,
                "is not in this machine's time zone database (the package tzdata)");
  }
  return rollout::TimeZone::from_tzif(*bytes);
}

}  // namespace

view::FleetWatchOptions ClusterFlags::fleet() const {
  view::FleetWatchOptions options;
  if (!key_domain.empty()) options.key_domain = key_domain;
  options.gpu_pods.dra_drivers = dra_drivers;
  options.clients = clients;
  if (!driver_namespaces.empty()) options.drivers.namespaces = driver_namespaces;
  options.rollouts.enabled = true;
  options.rollouts.time_zones = system_time_zone;
  return options;
}

kube::Environment system_environment() {
  kube::Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view text(*entry);
    auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment[std::string(text.substr(0, equals))] = std::string(text.substr(equals + 1));
  }
  return environment;
}

std::string who_am_i() {
  const passwd* entry = getpwuid(getuid());
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  return fmt::format("{}@{}", entry == nullptr ? std::to_string(getuid()) : entry->pw_name, host);
}

Result<kube::ClusterUser> identity_in(kube::SyncApi& api) {
  auto found = kube::find_identity(api);
  const bool is_silent = found ? found->name.empty() : found.error().kind == ErrorKind::not_found;
  if (is_silent) return kube::ClusterUser{who_am_i(), {}};
  return found;
}

ClusterSession::ClusterSession() = default;
ClusterSession::~ClusterSession() {
  api.reset();
  counting.reset();
  connection.api.reset();
}

Result<std::unique_ptr<ClusterSession>> ClusterSession::open(const ClusterFlags& flags,
                                                             LogLevel level) {
  std::unique_ptr<ClusterSession> session(new ClusterSession());
  session->log = make_stderr_log(flags.verbose ? LogLevel::debug : level);
  kube::ConnectOptions options;
  options.kubeconfig = flags.kubeconfig;
  options.context = flags.context;
  options.version = LOCKSTEP_VERSION;
  LOCKSTEP_TRY(session->connection, kube::connect(options, system_environment(), session->files,
                                                  session->processes, session->loop));
  session->counting = std::make_unique<kube::CountingApi>(*session->connection.api, session->loop);
  session->api =
      std::make_unique<kube::LimitedApi>(*session->counting, session->loop, session->random);
  return session;
}

Result<void> wait_for_fleet(ClusterSession& session, view::FleetWatch& watch, Duration limit) {
  watch.start();
  const kube::ReflectorStatus& contact = watch.caches().contact();
  // A user waits: an error that half a minute of retries will hardly cure is reported at once.
  auto is_hopeless = [&] {
    const auto& error = contact.last_error;
    return !contact.synced && error &&
           (error->kind == ErrorKind::unreachable || error->kind == ErrorKind::unauthorized ||
            error->kind == ErrorKind::forbidden);
  };
  session.loop.run_until([&] { return watch.synced() || is_hopeless(); }, limit);
  if (watch.synced()) {
    watch.count_changed();
    return {};
  }
  // The first error says more than "timed out".
  if (contact.last_error && !contact.synced) return fail(*contact.last_error);
  return failf(ErrorKind::timed_out, "the cluster did not list in {}: {}", format_duration(limit),
               watch.missing());
}

}  // namespace lockstep::cli
