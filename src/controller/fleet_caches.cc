#include "controller/fleet_caches.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "controller/controller_notes.h"
#include "controller/slot_ledger.h"

namespace lockstep::controller {

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

// Whoever may not read it goes without.
bool is_synced_or_forbidden(const kube::CachedResource<ConfigMap>& watch) {
  const auto& error = watch.reflector.status().last_error;
  return is_synced(watch) || (error && error->kind == ErrorKind::forbidden);
}

template <typename Visit>
void for_each_watch(const FleetCaches& fleet, Visit visit) {
  visit(fleet.nodes_watch, "nodes");
  visit(fleet.pods, "pods");
  visit(fleet.daemon_sets, "daemonsets");
  visit(fleet.revisions, "controllerrevisions");
  visit(fleet.deployments, "deployments");
  visit(fleet.claims, "resourceclaims");
  visit(fleet.slices, "resourceslices");
  visit(fleet.budgets, "poddisruptionbudgets");
  visit(fleet.cluster_policy_objects, "clusterpolicies");
  visit(fleet.nvidia_driver_objects, "nvidiadrivers");
  if (!fleet.rollouts.enabled()) return;
  visit(fleet.rollouts.rollouts, "driverrollouts");
  visit(fleet.rollouts.waves, "configmaps");
}

}  // namespace

FleetCaches::FleetCaches(kube::Api& api, Loop& loop, Random& random, Log& log,
                         RolloutWatchOptions rollout_options)
    : nodes_watch(api, loop, random, log, context_, kube::watch_of(resource::nodes)),
      pods(api, loop, random, log, context_, kube::watch_of(resource::pods), pod_indexes()),
      daemon_sets(api, loop, random, log, context_, kube::watch_of(resource::daemon_sets)),
      revisions(api, loop, random, log, context_, kube::watch_of(resource::controller_revisions),
                revision_indexes()),
      deployments(api, loop, random, log, context_, kube::watch_of(resource::deployments)),
      claims(api, loop, random, log, context_, kube::watch_of(resource::resource_claims)),
      slices(api, loop, random, log, context_, kube::watch_of(resource::resource_slices),
             slice_indexes()),
      budgets(api, loop, random, log, context_, kube::watch_of(resource::pod_disruption_budgets),
              budget_indexes()),
      cluster_policy_objects(api, loop, random, log, context_, kube::watch_of(cluster_policies)),
      nvidia_driver_objects(api, loop, random, log, context_, kube::watch_of(nvidia_drivers)),
      notes(api, loop, random, log, context_, watch_of_map(rollout_options.ns, notes_name)),
      ledger(api, loop, random, log, context_, watch_of_map(rollout_options.ns, ledger_name)),
      rollouts(api, loop, random, log, context_, std::move(rollout_options)) {}

FleetCaches::~FleetCaches() = default;

void FleetCaches::start() {
  nodes_watch.reflector.start();
  pods.reflector.start();
  daemon_sets.reflector.start();
  revisions.reflector.start();
  deployments.reflector.start();
  claims.reflector.start();
  slices.reflector.start();
  budgets.reflector.start();
  cluster_policy_objects.reflector.start();
  nvidia_driver_objects.reflector.start();
  rollouts.start();
}

void FleetCaches::read_notes() {
  if (std::exchange(reads_notes_, true)) return;
  notes.reflector.start();
  ledger.reflector.start();
}

std::string FleetCaches::unreadable_notes() const {
  const auto& error = notes.reflector.status().last_error;
  if (!reads_notes_ || notes.reflector.synced() || !error) return {};
  return fmt::format("what the controller knows besides cannot be read: {}", error->text());
}

std::string FleetCaches::missing() const {
  std::vector<std::string> names;
  if (reads_notes_ && !is_synced_or_forbidden(notes)) names.emplace_back(notes_name);
  if (reads_notes_ && !is_synced_or_forbidden(ledger)) names.emplace_back(ledger_name);
  for_each_watch(*this, [&](const auto& watch, std::string_view name) {
    if (is_synced(watch)) return;
    const auto& error = watch.reflector.status().last_error;
    names.push_back(error ? fmt::format("{} ({})", name, error->text()) : std::string(name));
  });
  return join(names, ", ");
}

bool FleetCaches::synced() const {
  bool all = !reads_notes_ || (is_synced_or_forbidden(notes) && is_synced_or_forbidden(ledger));
  for_each_watch(*this,
                 [&](const auto& watch, std::string_view) { all = all && is_synced(watch); });
  return all;
}

Time FleetCaches::last_heard() const {
  if (!synced()) return {};
  Time oldest;
  for_each_watch(*this, [&](const auto& watch, std::string_view) {
    Time heard = watch.reflector.status().last_success;
    // A kind that the cluster does not serve has nothing to say.
    if (heard.is_set() && (!oldest.is_set() || heard < oldest)) oldest = heard;
  });
  return oldest;
}

Duration FleetCaches::sees_since() const {
  Duration latest{0};
  for_each_watch(*this, [&](const auto& watch, std::string_view) {
    // A kind that the cluster does not serve has nothing to show.
    if (watch.reflector.synced()) latest = std::max(latest, watch.reflector.sees_since());
  });
  return latest;
}

bool FleetCaches::is_blind() const {
  bool blind = false;
  for_each_watch(*this, [&](const auto& watch, std::string_view) {
    blind = blind || (watch.reflector.synced() && watch.reflector.is_blind());
  });
  return blind;
}

// The operator itself takes the oldest and calls the others ignored; there is one in practice.
std::shared_ptr<const GenericObject> FleetCaches::cluster_policy() const {
  std::shared_ptr<const GenericObject> oldest;
  cluster_policy_objects.cache.for_each([&](const auto& object) {
    if (!oldest || object->meta.created < oldest->meta.created) oldest = object;
  });
  return oldest;
}

}  // namespace lockstep::controller
