#include "sim/oracle/truth.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "objects/int_or_percent.h"
#include "rollout/rollout_spec.h"

namespace lockstep::sim {

namespace {

using fleet::State;

bool same(const Json* a, const Json* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return json_equal(*a, *b);
}

// Rounded up; not by the code under test.
int64_t share_of(const IntOrPercent& share, int64_t total) {
  return share.percent ? (total * share.value + 99) / 100 : share.value;
}

// What a rollout says about limits; the rest of its status changes all the time.
std::string limits_in(const Json& rollout) {
  const Json* spec = find(rollout, "spec");
  return fmt::format("{} {} {}", spec == nullptr ? "" : print_json(*spec),
                     text_at(rollout, "status", "phase"),
                     as_integer(find(rollout, "status", "openWaves")));
}

bool changes_limits(const apiserver::Change& change) {
  return !change.before || limits_in(change.before->json()) != limits_in(change.object->json());
}

// The number of the current wave, from 0 on; -1: none.
int64_t wave_under_way(const Json& rollout) {
  static const std::set<std::string_view> at_rest = {"", "Pending", "Complete", "RolledBack"};
  if (at_rest.contains(text_at(rollout, "status", "phase"))) return -1;
  return std::max<int64_t>(as_integer(find(rollout, "status", "openWaves")), 1) - 1;
}

std::string digest_of(const Json& revision) {
  const Json* data = find(revision, "data");
  const Json* spec = data == nullptr ? nullptr : find(*data, "spec", "template", "spec");
  return std::string(spec == nullptr ? std::string_view() : config_digest(*spec));
}

// Forgets what no controller can believe any more.
template <typename Entries>
void forget_before(Entries& entries, Duration when) {
  while (entries.size() > 1 && entries[1].first < when) entries.pop_front();
}

}  // namespace

Truth::Truth(Cluster& cluster, fleet::Keys keys) : cluster_(cluster), keys_(std::move(keys)) {
  read_policies();
  const apiserver::Store& store = cluster_.backend.store;
  for (const ResourceType* type : {&resource::nodes, &resource::pods, &resource::daemon_sets,
                                   &resource::controller_revisions}) {
    for (const auto& [key, object] : store.shelf(type->full_name()).objects()) {
      apiserver::Change change{object->version(), kube::WatchEventType::added, object, nullptr};
      take(type->full_name(), change, false);
    }
  }
  // All that was there before is old.
  for (auto& [name, node] : nodes_) {
    node.cordon_changed = node.state_changed = node.changed = Duration::min();
  }
  for (auto& [node, pods] : pods_) {
    for (auto& [key, pod] : pods) pod.bound = pod.changed = Duration::min();
  }
  for (auto& [uid, driver] : drivers_) driver.changed = Duration::min();
}

Duration Truth::known_until(Duration since_shown) const {
  const Duration then = uptime() - since_shown;
  const Duration usual = then - blindness;
  if (sight == nullptr) return usual;
  // A write that arrives now was decided on what was shown before it was sent.
  return std::min(usual, sight->hidden_since(then - calm_blindness - lateness));
}

void Truth::take(const std::string& storage, const apiserver::Change& change, bool ours) {
  if (storage == "pods") return take_pod(change);
  if (storage == "nodes") return take_node(change, ours);
  if (storage == "daemonsets.apps") return take_daemon_set(change);
  if (storage == "controllerrevisions.apps") return take_revision(change);
  if (storage == "clusterpolicies.nvidia.com" || storage == "nvidiadrivers.nvidia.com" ||
      (storage == fleet::driver_rollouts.full_name() && changes_limits(change))) {
    read_policies();
  }
}

void Truth::take_node(const apiserver::Change& change, bool ours) {
  const Json& object = change.object->json();
  const std::string& name = change.object->key().name;
  if (change.type == kube::WatchEventType::deleted) {
    if (const NodeTruth* node = nodes_.find(name)) {
      Membership before = membership_of(*node);
      count(name, before, {});
      note_total(before.pool);
      nodes_.erase(name);
    }
    return;
  }
  auto [node, fresh] = nodes_.try_emplace(name);
  Membership before = fresh ? Membership() : membership_of(node);
  State from = node.state;
  State to = fleet::state_of(label_of(object, keys_.state));
  bool unschedulable = as_bool(find(object, "spec", "unschedulable"));
  bool ready = is_true_condition(object, "Ready");
  if (ready != node.ready) node.ready_changed = uptime();
  node.ready = ready;
  node.pool = std::string(label_of(object, driver_owner_label));
  if (unschedulable != node.unschedulable) {
    bool is_theirs = !ours || node.cordoned_before;
    node.cordon = !unschedulable ? Cordon::none : is_theirs ? Cordon::others : Cordon::ours;
    node.cordon_changed = uptime();
    node.cordoned_in_flight = unschedulable && !ours &&
                              (fleet::is_active(from) || from == State::failed ||
                               has_annotation(object, fleet::failure_annotation));
  }
  node.unschedulable = unschedulable;
  if (from != to) node.state_changed = uptime();
  node.changed = uptime();
  node.state = to;
  bool starts = from == State::required && fleet::is_active(to) && to != State::uncordon;
  if (ours && (starts || (from == State::failed && to == State::validation))) node.begun = true;
  if (!fleet::is_active(to)) node.begun = false;
  if (ours && starts) {
    node.cordoned_before = node.cordon == Cordon::others && !node.cordoned_in_flight;
  }
  // Before the controller's own cordon: then the cordon is theirs, even if it is repeated
  // later.
  if (!ours && unschedulable && node.cordon_changed == uptime() && from == State::cordon) {
    node.cordoned_before = true;
  }
  if (!fleet::is_active(to) && to != State::failed) node.cordoned_before = false;
  if (!ours && node.object) {
    const Json& old = *node.object;
    if (!same(find(old, "spec"), find(object, "spec")) ||
        !same(find(old, "metadata", "labels"), find(object, "metadata", "labels")) ||
        !same(find(old, "metadata", "annotations"), find(object, "metadata", "annotations"))) {
      node.meddled = uptime();
    }
  }
  bool is_taken_out = ours && to == State::required && unschedulable &&
                      has_annotation(object, fleet::unvalidated_annotation);
  bool was_in_service = node.cordon_changed == uptime() || fleet::is_active(from);
  if (is_taken_out && was_in_service && node.cordon == Cordon::ours) node.contained = true;
  if (!unschedulable) node.contained = false;
  bool is_with_others = node.cordon == Cordon::others || node.contained;
  bool out = !node.out_by_us() && (!node.ready || is_with_others);
  if (!out) {
    node.out_since = 0;
  } else if (node.out_since == 0) {
    node.out_since = change.version;
  }
  node.object = change.object->document();
  count(name, before, membership_of(node));
  note_total(node.pool);
  if (before.pool != node.pool) note_total(before.pool);
}

Truth::Membership Truth::membership_of(const NodeTruth& node) {
  return {node.pool, true, node.out_by_us(), node.out_since != 0, node.begun};
}

void Truth::count(const std::string& name, const Membership& before, const Membership& after) {
  if (before.is_there && after.is_there && before.pool != after.pool) {
    count(name, before, {});
    return count(name, {}, after);
  }
  Pool& pool = pools_[before.is_there ? before.pool : after.pool];
  auto set = [&](std::set<std::string>& names, bool was, bool is) {
    if (was == is) return;
    if (is) {
      names.insert(name);
    } else {
      names.erase(name);
    }
  };
  set(pool.nodes, before.is_there, after.is_there);
  set(pool.out_by_us, before.out_by_us, after.out_by_us);
  set(pool.out_by_others, before.out_by_others, after.out_by_others);
  set(pool.active, before.active, after.active);
}

void Truth::note_total(const std::string& pool_name) {
  Pool& pool = pools_[pool_name];
  auto total = static_cast<int64_t>(pool.nodes.size());
  if (total == pool.total) return;
  auto& larger = pool.larger_totals;
  while (!larger.empty() && !may_be_unknown(larger.front().first)) larger.pop_front();
  while (!larger.empty() && larger.back().second <= pool.total) larger.pop_back();
  larger.emplace_back(uptime(), pool.total);
  pool.total = total;
}

void Truth::take_pod(const apiserver::Change& change) {
  const Json& pod = change.object->json();
  std::string node(text_at(pod, "spec", "nodeName"));
  if (node.empty()) return;
  if (change.type == kube::WatchEventType::deleted) {
    if (auto* pods = pods_.find(node)) pods->erase(change.object->key());
    pod_gone_[node] = uptime();
    return;
  }
  auto [at, fresh] = pods_[node].try_emplace(change.object->key());
  bool another =
      !fresh && text_at(*at->second.object, "metadata", "uid") != text_at(pod, "metadata", "uid");
  if (fresh || another) {
    at->second.bound = uptime();
    at->second.waited_first = Duration::max();
  }
  if (waits_in_vain(pod)) at->second.waited_first = std::min(at->second.waited_first, uptime());
  at->second.changed = uptime();
  at->second.object = change.object->document();
  at->second.is_driver = is_driver_pod(*at->second.object);
}

void Truth::take_daemon_set(const apiserver::Change& change) {
  const Json& set = change.object->json();
  if (!is_driver_set(set)) return;
  std::string uid(text_at(set, "metadata", "uid"));
  if (change.type == kube::WatchEventType::deleted) {
    drivers_.erase(uid);
    return;
  }
  DriverTruth& driver = drivers_[uid];
  bool is_rolled = text_at(set, "spec", "updateStrategy", "type") != "OnDelete";
  if (is_rolled != driver.is_rolled) driver.rolled_changed = uptime();
  driver.is_rolled = is_rolled;
  const Json* spec = find(set, "spec", "template", "spec");
  std::string digest(spec == nullptr ? std::string_view() : config_digest(*spec));
  if (digest == driver.digest) return;
  driver.digest_before = std::exchange(driver.digest, digest);
  driver.digest_changed = driver.changed = uptime();
}

void Truth::take_revision(const apiserver::Change& change) {
  const Json& revision = change.object->json();
  const Json* owner = controller_of(revision);
  if (owner == nullptr) return;
  std::string uid(text_at(*owner, "uid"));
  auto& all = revisions_[uid];
  if (change.type == kube::WatchEventType::deleted) {
    all.erase(change.object->key().name);
  } else {
    all[change.object->key().name] = {
        as_integer(find(revision, "revision")),
        std::string(text_at(revision, "metadata", "creationTimestamp")),
        std::string(label_of(revision, fleet::revision_label)), digest_of(revision)};
  }
  const Revision* newest = nullptr;
  for (const auto& [name, entry] : all) {
    bool is_newer = newest == nullptr || std::tie(entry.number, entry.created) >=
                                             std::tie(newest->number, newest->created);
    if (is_newer) newest = &entry;
  }
  DriverTruth& driver = drivers_[uid];
  std::string hash = newest == nullptr ? "" : newest->hash;
  driver.newest_digest = newest == nullptr ? "" : newest->digest;
  if (hash == driver.newest) return;
  driver.newest = hash;
  driver.changed = uptime();
}

void Truth::read_policies() {
  const apiserver::Store& store = cluster_.backend.store;
  upgrade::Policy general = upgrade::Policy::none();
  auto add = [this](const std::string& pool, upgrade::Policy policy) {
    auto& history = policies_[pool];
    forget_before(history, known_until());
    history.emplace_back(uptime(), std::move(policy));
  };
  bool own_switch = keys_.domain != "nvidia.com";
  auto held = store.shelf(cluster_policies.full_name()).find({"", "cluster-policy"});
  if (held) general = upgrade::policy_of_cluster_policy(held->json(), own_switch);
  add("", as_the_waves_say("", general));
  for (const auto& [key, object] : store.shelf(nvidia_drivers.full_name()).objects()) {
    add(key.name, as_the_waves_say(key.name, upgrade::policy_of_nvidia_driver(
                                                 object->json(), general, own_switch)));
  }
}

upgrade::Policy Truth::as_the_waves_say(const std::string& pool, upgrade::Policy policy) const {
  const apiserver::Store& store = cluster_.backend.store;
  for (const auto& [key, object] : store.shelf(fleet::driver_rollouts.full_name()).objects()) {
    const Json& rollout = object->json();
    std::string_view kind = text_at(rollout, "spec", "driver", "kind");
    bool covers =
        pool.empty() ? kind == "ClusterPolicy"
                     : kind == "NVIDIADriver" && text_at(rollout, "spec", "driver", "name") == pool;
    int64_t number = wave_under_way(rollout);
    if (!covers || number < 0) continue;
    // Also those that are meant where none are named.
    const auto waves = rollout::read_rollout_spec(rollout).waves;
    if (static_cast<size_t>(number) >= waves.size()) continue;
    const auto& parallel = waves[static_cast<size_t>(number)].max_parallel;
    if (parallel) policy.max_parallel = *parallel;
    // The canary tolerates no failed node.
    bool is_canary = number == 0 && text_at(rollout, "status", "phase") == "Upgrading";
    if (is_canary) policy.max_failures = IntOrPercent::count(1);
  }
  return policy;
}

const NodeTruth* Truth::node(const std::string& name) const { return nodes_.find(name); }

const std::map<ObjectKey, PodTruth>& Truth::pods_on(const std::string& node) const {
  static const std::map<ObjectKey, PodTruth> none;
  const auto* pods = pods_.find(node);
  return pods == nullptr ? none : *pods;
}

const PodTruth* Truth::driver_pod(const std::string& node) const {
  const PodTruth* found = nullptr;
  for (const auto& [key, pod] : pods_on(node)) {
    if (!pod.is_driver) continue;
    if (found == nullptr || is_terminating(*found->object)) found = &pod;
  }
  return found;
}

Duration Truth::pod_gone(const std::string& node) const {
  const Duration* gone = pod_gone_.find(node);
  return gone == nullptr ? Duration::min() : *gone;
}

const DriverTruth* Truth::driver(std::string_view uid) const {
  auto at = drivers_.find(uid);
  return at == drivers_.end() ? nullptr : &at->second;
}

const DriverTruth* Truth::driver_of(const Json& pod) const {
  const Json* owner = controller_of(pod);
  return owner == nullptr ? nullptr : driver(text_at(*owner, "uid"));
}

bool Truth::is_of_known_revision(const Json& driver_pod) const {
  const Json* owner = controller_of(driver_pod);
  auto all = owner == nullptr ? revisions_.end() : revisions_.find(text_at(*owner, "uid"));
  if (all == revisions_.end()) return false;
  std::string_view hash = label_of(driver_pod, fleet::revision_label);
  return std::any_of(all->second.begin(), all->second.end(),
                     [&](const auto& revision) { return revision.second.hash == hash; });
}

bool Truth::is_configured_as_wanted(const Json& driver_pod) const {
  const DriverTruth* driver = driver_of(driver_pod);
  const Json* spec = find(driver_pod, "spec");
  return driver != nullptr && spec != nullptr && !driver->digest.empty() &&
         config_digest(*spec) == driver->digest;
}

bool Truth::was_just_as_wanted(const Json& driver_pod) const {
  if (is_configured_as_wanted(driver_pod)) return true;
  const DriverTruth* driver = driver_of(driver_pod);
  const Json* spec = find(driver_pod, "spec");
  return driver != nullptr && spec != nullptr && !driver->digest_before.empty() &&
         config_digest(*spec) == driver->digest_before &&
         uptime() - driver->digest_changed <= time_to_look;
}

const rollout::RolloutStatus& Truth::rollout_status(const apiserver::StoredPtr& rollout) const {
  for (const ReadStatus& read : statuses_) {
    if (read.rollout == rollout) return read.status;
  }
  ReadStatus& read = statuses_[next_status_++ % statuses_.size()];
  read = {rollout, rollout::read_rollout_status(rollout->json())};
  return read.status;
}

std::vector<const upgrade::Policy*> Truth::policies(const std::string& pool) const {
  auto at = policies_.find(pool);
  if (at == policies_.end()) at = policies_.find("");
  std::vector<const upgrade::Policy*> believed;
  const auto& history = at->second;
  for (size_t i = 0; i < history.size(); ++i) {
    bool last = i + 1 == history.size();
    if (last || may_be_unknown(history[i + 1].first)) believed.push_back(&history[i].second);
  }
  return believed;
}

Truth::Limits Truth::limits(const std::string& pool_name) const {
  int64_t most_nodes = total(pool_name);
  for (const auto& [until, nodes] : pool(pool_name).larger_totals) {
    if (!may_be_unknown(until)) continue;
    most_nodes = std::max(most_nodes, nodes);
    break;
  }
  Limits limits;
  bool unlimited = false;
  for (const upgrade::Policy* policy : policies(pool_name)) {
    limits.unavailable =
        std::max(limits.unavailable, share_of(policy->max_unavailable, most_nodes));
    unlimited = unlimited || policy->max_parallel == 0;
    limits.parallel = std::max(limits.parallel, policy->max_parallel);
    limits.failures =
        std::max({limits.failures, share_of(policy->max_failures, most_nodes), int64_t{1}});
  }
  if (unlimited) limits.parallel = 0;
  return limits;
}

const Truth::Pool& Truth::pool(const std::string& name) const {
  static const Pool none;
  auto at = pools_.find(name);
  return at == pools_.end() ? none : at->second;
}

const std::set<std::string>& Truth::out_by_us(const std::string& name) const {
  return pool(name).out_by_us;
}
const std::set<std::string>& Truth::out_by_others(const std::string& name) const {
  return pool(name).out_by_others;
}
const std::set<std::string>& Truth::active(const std::string& name) const {
  return pool(name).active;
}
int64_t Truth::total(const std::string& name) const {
  return static_cast<int64_t>(pool(name).nodes.size());
}

}  // namespace lockstep::sim
