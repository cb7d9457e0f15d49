#include "cli/dashboard_host.h"

#include <utility>

#include "cli/plan_command.h"
#include "kube/token_connection.h"

namespace lockstep::cli {

namespace {

constexpr Duration usual_node_time = minutes(5);

dashboard::FleetSourceParts source_parts(ClusterSession& session, const ClusterFlags& flags,
                                         controller::FleetWatch& watch,
                                         const dashboard::FleetModel& model) {
  kube::ConnectOptions options;
  options.kubeconfig = flags.kubeconfig;
  options.context = flags.context;
  options.version = LOCKSTEP_VERSION;
  auto connect_as = [&session, options](const std::string& token) {
    return kube::connect_with_token(options, session.connection.target, token, system_environment(),
                                    session.files, session.processes, session.loop);
  };
  auto plan = [&watch](bool assume_change) {
    return plan_to_json(make_plan(watch, assume_change, usual_node_time));
  };
  return {watch, *session.api, session.loop, model, connect_as, plan};
}

}  // namespace

DashboardHost::DashboardHost(ClusterSession& session, const ClusterFlags& flags,
                             controller::FleetWatch& watch)
    : source_(source_parts(session, flags, watch, model_)) {}

Result<std::unique_ptr<DashboardHost>> DashboardHost::start(ClusterSession& session,
                                                            const ClusterFlags& flags,
                                                            controller::FleetWatch& watch,
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
  return host;
}

}  // namespace lockstep::cli
