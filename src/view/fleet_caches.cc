#include "view/fleet_caches.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "view/controller_notes.h"

namespace lockstep::view {

namespace {

std::vector<kube::Cache<Pod>::Index> pod_indexes() {
  return {{"node", [](const Pod& pod, std::vector<Text>& values) {
             if (!pod.node_name.empty()) values.push_back(pod.node_name);
           }}};
}

std::vector<kube::Cache<ControllerRevision>::Index> revision_indexes() {
  return {{"owner", [](const ControllerRevision& revision, std::vector<Text>& values) {
             if (const auto* owner = revision.meta.controller()) values.push_back(owner->uid);
           }}};
}

std::vector<kube::Cache<ResourceSlice>::Index> slice_indexes() {
  return {{"node", [](const ResourceSlice& slice, std::vector<Text>& values) {
             if (!slice.node_name.empty()) values.push_back(slice.node_name);
           }}};
}

std::vector<kube::Cache<PodDisruptionBudget>::Index> budget_indexes() {
  return {{"namespace", [](const PodDisruptionBudget& budget, std::vector<Text>& values) {
             values.push_back(budget.meta.ns);
           }}};
}

// A kind that the cluster does not serve has no objects.
template <typename T>
bool is_synced(const kube::CachedResource<T>& watch) {
  if (watch.reflector.synced()) return true;
  const auto& error = watch.reflector.status().last_error;
  return error && error->kind == ErrorKind::not_found;
}

kube::ReflectorOptions watch_of_map(const std::string& ns, std::string_view name) {
  kube::ReflectorOptions options = kube::watch_of(resource::config_maps, ns);
  options.query.emplace_back("fieldSelector", fmt::format("metadata.name={}", name));
  return options;
}

// An account that may not read it does without it.
bool is_synced_or_forbidden(const kube::CachedResource<ConfigMap>& watch) {
  const auto& error = watch.reflector.status().last_error;
  return is_synced(watch) || (error && error->kind == ErrorKind::forbidden);
}

}  // namespace

template <typename Visit>
void FleetCaches::for_each_watch(Visit visit) const {
  visit(nodes_, "nodes");
  visit(pods_, "pods");
  visit(daemon_sets_, "daemonsets");
  visit(revisions_, "controllerrevisions");
  visit(deployments_, "deployments");
  visit(claims_, "resourceclaims");
  visit(slices_, "resourceslices");
  visit(budgets_, "poddisruptionbudgets");
  visit(cluster_policies_, "clusterpolicies");
  visit(nvidia_drivers_, "nvidiadrivers");
  rollouts_.for_each_watch(visit);
}

FleetCaches::FleetCaches(kube::Api& api, Loop& loop, Random& random, Log& log,
                         RolloutWatchOptions rollout_options)
    : nodes_(api, loop, random, log, context_, kube::watch_of(resource::nodes)),
      pods_(api, loop, random, log, context_, kube::watch_of(resource::pods), pod_indexes()),
      daemon_sets_(api, loop, random, log, context_, kube::watch_of(resource::daemon_sets)),
      revisions_(api, loop, random, log, context_, kube::watch_of(resource::controller_revisions),
                 revision_indexes()),
      deployments_(api, loop, random, log, context_, kube::watch_of(resource::deployments)),
      claims_(api, loop, random, log, context_, kube::watch_of(resource::resource_claims)),
      slices_(api, loop, random, log, context_, kube::watch_of(resource::resource_slices),
              slice_indexes()),
      budgets_(api, loop, random, log, context_, kube::watch_of(resource::pod_disruption_budgets),
               budget_indexes()),
      cluster_policies_(api, loop, random, log, context_, kube::watch_of(fleet::cluster_policies)),
      nvidia_drivers_(api, loop, random, log, context_, kube::watch_of(fleet::nvidia_drivers)),
      notes_(api, loop, random, log, context_, watch_of_map(rollout_options.ns, notes_name)),
      ledger_(api, loop, random, log, context_, watch_of_map(rollout_options.ns, ledger_name)),
      rollouts_(api, loop, random, log, context_, std::move(rollout_options)) {}

FleetCaches::~FleetCaches() = default;

void FleetCaches::start() {
  nodes_.reflector.start();
  pods_.reflector.start();
  daemon_sets_.reflector.start();
  revisions_.reflector.start();
  deployments_.reflector.start();
  claims_.reflector.start();
  slices_.reflector.start();
  budgets_.reflector.start();
  cluster_policies_.reflector.start();
  nvidia_drivers_.reflector.start();
  rollouts_.start();
}

void FleetCaches::read_notes() {
  if (std::exchange(reads_notes_, true)) return;
  notes_.reflector.start();
  ledger_.reflector.start();
}

std::string FleetCaches::unreadable_notes() const {
  const auto& error = notes_.reflector.status().last_error;
  if (!reads_notes_ || notes_.reflector.synced() || !error) return {};
  return fmt::format("the controller's notes cannot be read: {}", error->text());
}

std::string FleetCaches::missing() const {
  std::vector<std::string> names;
  if (reads_notes_ && !is_synced_or_forbidden(notes_)) names.emplace_back(notes_name);
  if (reads_notes_ && !is_synced_or_forbidden(ledger_)) names.emplace_back(ledger_name);
  for_each_watch([&](const auto& watch, std::string_view name) {
    if (is_synced(watch)) return;
    const auto& error = watch.reflector.status().last_error;
    names.push_back(error ? fmt::format("{} ({})", name, error->text()) : std::string(name));
  });
  return join(names, ", ");
}

bool FleetCaches::synced() const {
  bool all = !reads_notes_ || (is_synced_or_forbidden(notes_) && is_synced_or_forbidden(ledger_));
  for_each_watch([&](const auto& watch, std::string_view) { all = all && is_synced(watch); });
  return all;
}

Time FleetCaches::last_heard() const {
  if (!synced()) return {};
  Time oldest;
  for_each_watch([&](const auto& watch, std::string_view) {
    Time heard = watch.reflector.status().last_success;
    // A kind that the cluster does not serve has nothing to say.
    if (heard.is_set() && (!oldest.is_set() || heard < oldest)) oldest = heard;
  });
  return oldest;
}

Duration FleetCaches::sees_since() const {
  Duration latest{0};
  for_each_watch([&](const auto& watch, std::string_view) {
    // A kind that the cluster does not serve has nothing to show.
    if (watch.reflector.synced()) latest = std::max(latest, watch.reflector.sees_since());
  });
  return latest;
}

bool FleetCaches::is_blind() const {
  bool blind = false;
  for_each_watch([&](const auto& watch, std::string_view) {
    blind = blind || (watch.reflector.synced() && watch.reflector.is_blind());
  });
  return blind;
}

bool FleetCaches::has_lost_contact() const {
  const kube::ReflectorStatus& now = contact();
  return !now.watching && now.last_error && now.last_error_time > now.last_success;
}

// The operator itself takes the oldest and calls the others ignored; there is one in practice.
std::shared_ptr<const GenericObject> FleetCaches::cluster_policy() const {
  std::shared_ptr<const GenericObject> oldest;
  cluster_policies_.cache.for_each([&](const auto& object) {
    if (!oldest || object->meta.created < oldest->meta.created) oldest = object;
  });
  return oldest;
}

}  // namespace lockstep::view
