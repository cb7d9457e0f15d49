#include "cli/dashboard_host.h"

#include <utility>

#include "git/names.h"
#include "kube/token_connection.h"
#include "operate/plan.h"

namespace lockstep::cli {

namespace {

dashboard::FleetSourceParts source_parts(ClusterSession& session, const ClusterFlags& flags,
                                         view::FleetWatch& watch,
                                         const dashboard::FleetModel& model) {
  kube::ConnectOptions options;
  options.kubeconfig = flags.kubeconfig;
  options.context = flags.context;
  options.version = LOCKSTEP_VERSION;
  auto connect_as = [&session, options](const std::string& token) {
    return kube::connect_with_token(options, session.connection.target, token, system_environment(),
                                    session.files, session.processes, session.loop);
  };
  auto plan = [&watch, &session](bool assume_change) {
    operate::PlanRequest asked;
    asked.assume_change = assume_change;
    return operate::to_json(operate::make_plan(watch, session.loop.now(), asked));
  };
  return {watch, *session.api, session.loop, model, connect_as, plan, flags.key_conflict};
}

// Each place once, with the rollouts that take their version from it; the one of the flags first.
std::vector<dashboard::ShownMatrix> matrices_of(const view::FleetWatch& watch,
                                                const DashboardPlace& place) {
  std::vector<dashboard::ShownMatrix> shown;
  auto add = [&](const rollout::MatrixPlace& matrix, bool readable) -> auto& {
    for (auto& known : shown) {
      if (known.place == matrix) return known;
    }
    shown.push_back({matrix, git::redact(matrix.repository), {}, readable});
    return shown.back();
  };
  if (!place.matrix.repository.empty()) add(place.matrix, true);
  for (const auto& [name, known] : watch.rollouts().all()) {
    if (!known.spec.matrix) continue;
    // A user who names a local clone of the repository means that one.
    const bool stands_for = !place.matrix.repository.empty() && !place.rollouts_repositories;
    auto& matrix = stands_for ? shown.front()
                              : add(*known.spec.matrix, place.rollouts_repositories.has_value());
    matrix.rollouts.push_back(name);
  }
  return shown;
}

}  // namespace

DashboardHost::DashboardHost(ClusterSession& session, const ClusterFlags& flags,
                             view::FleetWatch& watch)
    : source_(source_parts(session, flags, watch, model_)) {}

Result<std::unique_ptr<DashboardHost>> DashboardHost::start(ClusterSession& session,
                                                            const ClusterFlags& flags,
                                                            view::FleetWatch& watch,
                                                            const DashboardPlace& place) {
  std::unique_ptr<DashboardHost> host(new DashboardHost(session, flags, watch));
  dashboard::DashboardOptions options;
  options.address = place.address;
  options.epoch = session.random.suffix(8);
  options.version = LOCKSTEP_VERSION;
  options.cluster = place.cluster.empty() ? session.connection.target.context : place.cluster;
  LOCKSTEP_TRY(host->dashboard_,
               dashboard::Dashboard::start(session.loop, *session.log, host->model_, host->source_,
                                           dashboard::embedded_page(), std::move(options)));
  dashboard::FeedOptions feed;
  feed.rack_label = place.rack_label;
  DashboardHost* raw = host.get();
  host->feed_ = std::make_unique<dashboard::FleetFeed>(
      watch, session.loop, host->model_,
      [raw] {
        raw->feed_->set_watched(raw->dashboard_->pages() > 0);
        raw->dashboard_->publish();
      },
      feed);
  host->follow_matrices(session, watch, place);
  return host;
}

void DashboardHost::follow_matrices(ClusterSession& session, view::FleetWatch& watch,
                                    const DashboardPlace& place) {
  controller::MatrixLogOptions log;
  log.allowed = place.rollouts_repositories;
  log.environment = log.allowed ? git::own_environment(system_environment())
                                : git::users_environment(system_environment());
  matrix_log_ = std::make_unique<controller::MatrixLog>(session.loop, std::move(log));
  dashboard::MatrixFeedParts parts;
  parts.matrices = [&watch, place] { return matrices_of(watch, place); };
  parts.read = [this](const rollout::MatrixPlace& matrix,
                      std::function<void(Result<rollout::MatrixReport>)> done) {
    matrix_log_->read(matrix, std::move(done));
  };
  parts.is_watched = [this] { return dashboard_->pages() > 0; };
  parts.changed = [this] { dashboard_->publish(); };
  dashboard::MatrixFeedOptions options;
  options.interval = place.matrix_interval;
  matrix_feed_ =
      std::make_unique<dashboard::MatrixFeed>(session.loop, model_, std::move(parts), options);
  watch.rollouts().on_change(scope_.bind([this] { matrix_feed_->hurry(); }));
}

}  // namespace lockstep::cli
