#include "sim/rollout_part.h"

#include <cmath>

#include <fmt/format.h>

#include "data/yaml.h"
#include "deploy/chart.h"
#include "fleet/keys.h"
#include "rollout/rollout_view.h"
#include "sim/writer.h"

namespace lockstep::sim {

namespace {

constexpr Duration health_interval = minutes(5);

// How many events happen when so many are to be expected: by the gaps between them.
int64_t draw_events(double expected, Random& random) {
  int64_t events = 0;
  double passed = 0;
  while (true) {
    passed -= std::log(1 - random.fraction());
    if (passed > expected) return events;
    ++events;
  }
}

}  // namespace

rollout::TimeZones rollout_time_zones() {
  return [](const std::string& name) -> Result<rollout::TimeZone> {
    if (name == "Europe/Berlin") return rollout::TimeZone::from_rule("CET-1CEST,M3.5.0,M10.5.0/3");
    return fail(ErrorKind::not_found, "the simulation does not know it");
  };
}

Json driver_rollout_definition() {
  deploy::ChartFiles files = deploy::embedded_chart();
  auto definition = parse_yaml(files["templates/driverrollouts.yaml"], "driverrollouts.yaml");
  return definition ? *definition : Json();
}

RolloutPart::RolloutPart(Cluster& cluster, const Scenario& scenario, uint64_t seed)
    : cluster_(cluster), scenario_(scenario), random_(seed * 13 + 7), rates_(scenario.xid_rates) {}

Result<void> RolloutPart::start() {
  if (!enabled()) return {};
  LOCKSTEP_TRY(Document definition,
               cluster_.call(kube::create(resource::custom_resource_definitions, "",
                                          driver_rollout_definition())));
  LOCKSTEP_TRY(
      Document rollout,
      cluster_.call(kube::create(fleet::driver_rollouts, "",
                                 JsonObject{{"apiVersion", fleet::driver_rollouts.api_version()},
                                            {"kind", fleet::driver_rollouts.kind},
                                            {"metadata", JsonObject{{"name", rollout_name}}},
                                            {"spec", scenario_.rollout}})));
  (void)definition;
  (void)rollout;
  if (scenario_.health) tick();
  return {};
}

const rollout::RolloutStatus& RolloutPart::status() const {
  Document object = cluster_.get(fleet::driver_rollouts, {"", std::string(rollout_name)});
  if (object != last_read_) {
    last_read_ = object;
    last_status_ = object ? rollout::read_rollout_status(*object) : rollout::RolloutStatus{};
  }
  return last_status_;
}

bool RolloutPart::at_rest() const {
  if (!enabled()) return true;
  const rollout::RolloutStatus& now = status();
  // A person's word that has not been heard yet, or a version.
  switch (now.phase) {
    case rollout::Phase::pending:
    case rollout::Phase::complete:
    case rollout::Phase::held:
    case rollout::Phase::rolled_back:
    case rollout::Phase::awaiting_approval:
      return true;
    case rollout::Phase::upgrading:
      // The next window comes by itself.
      return find(scenario_.rollout, "windows") == nullptr;
    default:
      return false;
  }
}

Result<void> RolloutPart::command(const std::string& verb) {
  rollout::Command command;
  command.verb = verb;
  command.by = "ops";
  command.at = cluster_.loop.now() + nanoseconds(++commands_);
  Json patch = JsonObject{
      {"metadata", JsonObject{{"annotations", JsonObject{{rollout::command_annotation,
                                                          print_json(command.to_json())}}}}}};
  LOCKSTEP_TRY(Document written,
               cluster_.call(merge_patch(fleet::driver_rollouts, {"", std::string(rollout_name)},
                                         std::move(patch))));
  (void)written;
  return {};
}

Result<void> RolloutPart::change_spec(const Json& patch) {
  LOCKSTEP_TRY(Document written,
               cluster_.call(merge_patch(fleet::driver_rollouts, {"", std::string(rollout_name)},
                                         JsonObject{{"spec", patch}})));
  (void)written;
  return {};
}

double RolloutPart::rate_of(const std::string& version) const {
  auto at = rates_.find(version);
  if (at == rates_.end()) at = rates_.find("*");
  return at == rates_.end() ? 0 : at->second;
}

void RolloutPart::tick() {
  double hours_passed = in_seconds(health_interval) / 3600;
  for (const std::string& node : cluster_.kubelets().node_names()) {
    if (!cluster_.kubelets().is_there(node)) continue;
    const Machine& machine = cluster_.kubelets().machine(node);
    auto [at, is_new] = events_.try_emplace(node, 0);
    int64_t events = 0;
    double rate = rate_of(machine.version());
    if (rate > 0 && machine.loaded() && cluster_.kubelets().is_busy(node)) {
      events = draw_events(rate * machine.gpus() * hours_passed, random_);
    }
    if (!is_new && events == 0) continue;
    at->second += events;
    Json health = JsonObject{{"gpus", machine.gpus()}, {"FatalXid", at->second}};
    (void)cluster_.call(merge_patch(
        resource::nodes, {"", node},
        JsonObject{{"metadata", JsonObject{{"annotations", JsonObject{{health_annotation,
                                                                       print_json(health)}}}}}}));
  }
  cluster_.loop.after(health_interval, scope_.bind([this] { tick(); }));
}

}  // namespace lockstep::sim
