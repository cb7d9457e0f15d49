#include "controller/fleet_watch.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "upgrade/slots.h"

namespace lockstep::controller {

namespace {

Text digest_of(const DaemonSet::Template& pod_template) {
  const Text* digest = pod_template.spec.find_environment("DRIVER_CONFIG_DIGEST");
  return digest == nullptr ? Text() : *digest;
}

}  // namespace

FleetWatch::FleetWatch(kube::Api& api, Loop& loop, Random& random, Log& log,
                       FleetWatchOptions options)
    : FleetCaches(api, loop, random, log, options.rollouts),
      options_(std::move(options)),
      rules_{fleet::Keys(options_.key_domain)},
      pool_rules_(loop, options_.key_domain, options_.drivers),
      loop_(loop) {
  listen();
}

FleetWatch::~FleetWatch() = default;

Duration FleetWatch::acts_since(const std::string& pool) const {
  return std::max(sees_since(), pool_rules_.acts_since(pool).value_or(Duration::zero()));
}

void FleetWatch::start() {
  FleetCaches::start();
  if (options_.reads_notes) read_notes();
}

void FleetWatch::on_node(std::function<void(const std::string&)> listener) {
  node_listeners_.push_back(std::move(listener));
}

void FleetWatch::on_pool(std::function<void()> listener) {
  pool_listeners_.push_back(std::move(listener));
}

void FleetWatch::listen() {
  nodes_watch.cache.on_change([this](const kube::Cache<Node>::Change& change) {
    const Node& node = change.object();
    if (!change.after) {
      tally_.release(node.meta.name.str());
      driver_facts_.erase(node.meta.name.str());
      if (tally_.remove(node.meta.name.str())) {
        for (const auto& listener : pool_listeners_) listener();
      }
    }
    touch(node.meta.name);
  });
  nodes_watch.cache.on_settled([this](const ObjectKey& key) { touch(key.name); });
  pods.cache.on_change([this](const kube::Cache<Pod>::Change& change) {
    if (change.before && !change.after) tries_.erase(change.before->meta.uid.str());
    if (change.before) touch(change.before->node_name);
    if (change.after && (!change.before || change.before->node_name != change.after->node_name)) {
      touch(change.after->node_name);
    }
    if (pool_rules_.see_pod(change.object(), change.after != nullptr)) touch_all();
  });
  pods.cache.on_settled([this](const ObjectKey& key) {
    if (auto pod = pods.cache.find(key)) touch(pod->node_name);
  });
  daemon_sets.cache.on_change([this](const kube::Cache<DaemonSet>::Change& change) {
    if (change.after && fleet::is_driver_daemon_set(*change.after, options_.drivers)) {
      driver_sets_.insert(change.object().meta.key());
    } else {
      driver_sets_.erase(change.object().meta.key());
    }
    if (auto client = fleet::find_driver_client(change.object(), options_.clients);
        change.after && client && !client->reopens_driver) {
      client_sets_.insert(change.object().meta.key());
    } else {
      client_sets_.erase(change.object().meta.key());
    }
    // Its status changes all the time; only what it wants matters.
    if (change.before && change.after &&
        change.before->meta.generation == change.after->meta.generation &&
        change.before->meta.uid == change.after->meta.uid) {
      return;
    }
    if (change.after) touch_daemon_set(*change.after);
    if (change.before) touch_daemon_set(*change.before);
  });
  deployments.cache.on_change([this](const kube::Cache<Deployment>::Change& change) {
    if (pool_rules_.see_deployment(change.object(), change.after != nullptr)) touch_all();
  });
  revisions.cache.on_change([this](const kube::Cache<ControllerRevision>::Change& change) {
    read_revision(change.object());
  });
  claims.cache.on_change([this](const kube::Cache<ResourceClaim>::Change& change) {
    for (const auto& consumer : change.object().reserved_for) {
      auto pod = pods.cache.find(kube::KeyView(change.object().meta.ns, consumer.name));
      if (pod) touch(pod->node_name);
    }
  });
  slices.cache.on_change([this](const kube::Cache<ResourceSlice>::Change& change) {
    touch(change.object().node_name);
  });
  auto read_policies = [this] {
    if (pool_rules_.read(*this)) touch_all();
    touch_all();
  };
  auto on_policy = [=](const kube::Cache<GenericObject>::Change&) { read_policies(); };
  cluster_policy_objects.cache.on_change(on_policy);
  nvidia_driver_objects.cache.on_change(on_policy);
  rollouts.on_gates(read_policies);
  notes.cache.on_change([this](const auto& change) { take_notes(change); });
  ledger.cache.on_change([this](const auto& change) { take_ledger(change); });
}

void FleetWatch::touch(std::string_view node) {
  if (node.empty()) return;
  std::string name(node);
  uncounted_.insert(name);
  for (const auto& listener : node_listeners_) listener(name);
}

void FleetWatch::touch_all() {
  nodes_watch.cache.for_each([this](const auto& node) { touch(node->meta.name); });
  for (const auto& listener : pool_listeners_) listener();
}

void FleetWatch::touch_daemon_set(const DaemonSet& set) {
  bool matters = fleet::is_driver_daemon_set(set, options_.drivers) ||
                 fleet::find_driver_client(set, options_.clients);
  if (matters) touch_all();
}

void FleetWatch::read_revision(const ControllerRevision& revision) {
  const OwnerReference* owner = revision.meta.controller();
  if (owner == nullptr || !options_.drivers.covers(revision.meta.ns)) return;
  auto all = revisions_owned_by(owner->uid);
  const auto* newest = fleet::newest_revision(all);
  Newest known;
  if (newest != nullptr) {
    known = {Text(newest->hash()), digest_of(newest->pod_template), newest->meta.created, {}};
    for (const auto& each : all) known.hashes.emplace_back(each->hash());
  }
  auto at = newest_.find(owner->uid.view());
  if (at != newest_.end() && at->second == known) return;
  newest_[owner->uid.str()] = known;
  // Of DaemonSets that are no drivers nobody asks for the newest revision.
  for (const auto& key : driver_sets_) {
    auto set = daemon_sets.cache.find(key);
    if (set && set->meta.uid == owner->uid) return touch_all();
  }
}

std::vector<std::shared_ptr<const ControllerRevision>> FleetWatch::revisions_owned_by(
    const Text& uid) const {
  auto all = revisions.cache.find_all("owner", uid);
  std::erase_if(all, [&](const auto& each) { return !options_.drivers.covers(each->meta.ns); });
  return all;
}

std::shared_ptr<const DaemonSet> FleetWatch::driver_set_of(const Node& node, const Pod* pod) const {
  std::shared_ptr<const DaemonSet> wanting;
  const OwnerReference* owner = pod == nullptr ? nullptr : pod->meta.controller();
  // A taint that comes in the middle of an upgrade keeps the new pod away; the upgrade still waits
  // for it.
  bool in_progress = fleet::is_active(fleet::state_of(node, rules_.keys));
  for (const auto& key : driver_sets_) {
    auto set = daemon_sets.cache.find(key);
    if (!set) continue;
    if (owner != nullptr && set->meta.uid == owner->uid && set->meta.ns == pod->meta.ns) return set;
    bool wants = in_progress ? fleet::selects(*set, node) : fleet::wants_pod_on(*set, node);
    if (!wanting && wants) wanting = set;
  }
  return wanting;
}

std::shared_ptr<const DaemonSet> FleetWatch::daemon_set_of(const Pod& pod) const {
  const OwnerReference* owner = pod.meta.controller();
  if (owner == nullptr || !pod.is_owned_by_daemon_set()) return nullptr;
  auto set = daemon_sets.cache.find(kube::KeyView(pod.meta.ns.view(), owner->name.view()));
  return set && set->meta.uid == owner->uid ? set : nullptr;
}

bool FleetWatch::is_driver_pod(const Pod& pod) const {
  if (!fleet::is_driver_pod(pod, options_.drivers)) return false;
  // Another DaemonSet of that namespace may have made it.
  auto set = daemon_set_of(pod);
  return !set || fleet::is_driver_daemon_set(*set, options_.drivers);
}

std::vector<std::string> FleetWatch::blocking_budgets(const Pod& pod) const {
  std::vector<std::string> names;
  budgets.cache.for_each("namespace", pod.meta.ns, [&](const auto& budget) {
    if (budget->disruptions_allowed > 0 || !budget->selector.matches(pod.meta.labels)) return;
    names.push_back(budget->meta.name.str());
  });
  return names;
}

void FleetWatch::add_pod(const fleet::PodPtr& pod, const fleet::ClaimLookup& claims_of_pods,
                         bool evicting, fleet::NodeView& view) const {
  if (is_driver_pod(*pod)) {
    const Pod* held = view.driver.pod.get();
    bool better = held == nullptr || (held->meta.is_deleting() && !pod->meta.is_deleting()) ||
                  (held->meta.is_deleting() == pod->meta.is_deleting() &&
                   held->meta.created < pod->meta.created);
    if (better) view.driver.pod = pod;
    return;
  }
  if (fleet::is_validator_pod(*pod, options_.drivers)) view.validators.push_back(pod);
  fleet::PodOnNode entry{pod, fleet::uses_gpu(*pod, claims_of_pods, options_.gpu_pods), {}, {}, {}};
  if (evicting && !pod->is_finished()) {
    entry.blocking_budgets = blocking_budgets(*pod);
    add_tries(view.node->meta.name, entry);
  }
  view.pods.push_back(std::move(entry));
}

bool FleetWatch::is_evicting(const Node& node) const {
  fleet::State state = fleet::state_of(node, rules_.keys);
  return state == fleet::State::pod_deletion || state == fleet::State::drain;
}

std::vector<fleet::ClientView> FleetWatch::clients_on(const fleet::NodeView& view) const {
  std::vector<fleet::ClientView> clients;
  for (const ObjectKey& key : client_sets_) {
    auto set = daemon_sets.cache.find(key);
    if (!set) continue;
    bool wanted = !set->meta.is_deleting() && fleet::wants_pod_on(*set, *view.node);
    fleet::ClientView client{key.text(), wanted, nullptr};
    for (const auto& entry : view.pods) {
      const OwnerReference* owner = entry.pod->meta.controller();
      if (owner == nullptr || owner->uid != set->meta.uid || entry.pod->meta.ns != key.ns) continue;
      // The one that stays, where an old one is still ending.
      if (!client.pod || client.pod->meta.is_deleting()) client.pod = entry.pod;
    }
    if (client.wanted || client.pod) clients.push_back(std::move(client));
  }
  return clients;
}

std::optional<fleet::NodeView> FleetWatch::view(const std::string& name) const {
  auto node = nodes_watch.cache.find(kube::KeyView("", name));
  if (!node) return std::nullopt;
  fleet::NodeView view = begin_view(node);
  auto lookup = [this](std::string_view ns, std::string_view claim) {
    return claims.cache.find(kube::KeyView(ns, claim));
  };
  bool evicting = is_evicting(*node);
  pods.cache.for_each("node", node->meta.name,
                      [&](const fleet::PodPtr& pod) { add_pod(pod, lookup, evicting, view); });
  end_view(view);
  add_notes(view);
  return view;
}

fleet::NodeView FleetWatch::view(const FreshNode& fresh) const {
  fleet::NodeView view = begin_view(fresh.node);
  auto lookup = [&](std::string_view ns, std::string_view claim) {
    auto read = fresh.claims.find(kube::KeyView(ns, claim).key());
    return read != fresh.claims.end() ? read->second : claims.cache.find(kube::KeyView(ns, claim));
  };
  bool evicting = is_evicting(*fresh.node);
  for (const fleet::PodPtr& pod : fresh.pods) add_pod(pod, lookup, evicting, view);
  end_view(view);
  return view;
}

bool FleetWatch::is_behind_on_driver(const FreshNode& fresh, const fleet::NodeView& view) {
  if (!fresh.has_read_driver) return false;
  // The pod is another's than the one that was known when the question was asked.
  if (view.driver.set_to_ask() != fresh.asked_driver_set) return true;
  // No orphan, but the pod of a DaemonSet that was not seen yet.
  if (view.driver.is_orphan()) {
    const OwnerReference* owner = view.driver.pod->meta.controller();
    return owner != nullptr && fresh.driver_set && fresh.driver_set->meta.uid == owner->uid;
  }
  const auto& set = view.driver.set;
  if (!set) return false;
  if (!fresh.driver_set || fresh.driver_set->meta.uid != set->meta.uid ||
      fresh.driver_set->meta.generation != set->meta.generation) {
    return true;
  }
  return fresh.has_read_revisions && is_behind_on_revisions(fresh, view.driver);
}

bool FleetWatch::is_behind_on_revisions(const FreshNode& fresh, const fleet::DriverView& driver) {
  // Which it is cannot be told at the moment, and who decides something all the same knows that.
  if (driver.newest_revision.empty()) return false;
  auto revisions = fresh.revisions;
  std::erase_if(revisions, [&](const auto& revision) {
    const OwnerReference* owner = revision->meta.controller();
    return owner == nullptr || owner->uid != driver.set->meta.uid;
  });
  const ControllerRevision* newest = fleet::newest_revision(revisions);
  return newest != nullptr && newest->hash() != driver.newest_revision;
}

fleet::NodeView FleetWatch::begin_view(std::shared_ptr<const Node> node) const {
  fleet::NodeView view;
  view.pool = std::string(node->meta.labels.get(fleet::driver_owner_label));
  view.node = std::move(node);
  return view;
}

bool FleetWatch::is_of_later_revision(const fleet::DriverView& driver, const Newest& newest) {
  if (driver.pod == nullptr || driver.is_orphan() || !newest.created.is_set()) return false;
  std::string_view hash = driver.pod->meta.labels.get(fleet::revision_label);
  bool known = std::any_of(newest.hashes.begin(), newest.hashes.end(),
                           [&](const Text& each) { return each == hash; });
  return !hash.empty() && !known && driver.pod->meta.created >= newest.created;
}

void FleetWatch::end_view(fleet::NodeView& view) const {
  const auto& node = view.node;
  view.driver.set = driver_set_of(*node, view.driver.pod.get());
  if (view.driver.set) {
    auto newest = newest_.find(view.driver.set->meta.uid.view());
    // Two watches, of which one may lag: a new revision beside the old template would make every
    // change look cosmetic, and the driver be restarted under running work. As long as they do not
    // speak of the same driver, the revision is not known.
    bool agree = newest != newest_.end() &&
                 newest->second.digest == digest_of(view.driver.set->pod_template);
    // And a pod that was made after the newest revision that we know, of one that we do not know,
    // is no old pod: we are behind.
    if (agree && !is_of_later_revision(view.driver, newest->second)) {
      view.driver.newest_revision = newest->second.hash;
    }
  }
  rollouts.add_to(view);
  if (!view.group.empty() && fleet::state_of(*node, rules_.keys) == fleet::State::required) {
    if (auto held = upgrade::holds_group(tally_, view.pool, view.group, policy(view.pool))) {
      view.held_by_group = fleet::RolloutHold{held->name, held->text, held->remedy};
    }
  }
  // Slices are what clients publish: whoever restarts no clients does not wait for slices either.
  bool looks_at_clients = options_.restarts_clients && !options_.clients.empty();
  bool validates = fleet::state_of(*node, rules_.keys) == fleet::State::validation;
  if (looks_at_clients && (validates || view.outside_wave)) {
    view.clients = clients_on(view);
  }
  if (looks_at_clients && validates) {
    view.slice_versions = published_versions(node->meta.name.str());
  }
}

bool FleetWatch::runs_gpu_pods(const std::string& node) const {
  auto lookup = [this](std::string_view ns, std::string_view claim) {
    return claims.cache.find(kube::KeyView(ns, claim));
  };
  bool runs = false;
  pods.cache.for_each("node", node, [&](const fleet::PodPtr& pod) {
    runs = runs || (pod->phase == PodPhase::running && !is_driver_pod(*pod) &&
                    fleet::uses_gpu(*pod, lookup, options_.gpu_pods));
  });
  return runs;
}

std::vector<std::string> FleetWatch::published_versions(const std::string& node) const {
  std::vector<std::string> known;
  slices.cache.for_each("node", node, [&](const auto& slice) {
    for (const auto& device : slice->devices) {
      const Text* version = device.find_attribute("driverVersion");
      if (version == nullptr) continue;
      if (std::find(known.begin(), known.end(), version->view()) == known.end()) {
        known.push_back(version->str());
      }
    }
  });
  return known;
}

bool FleetWatch::is_current(const std::string& name) const {
  if (!nodes_watch.cache.is_current(ObjectKey{"", name})) return false;
  if (pods.cache.expectations().empty()) return true;
  bool current = true;
  pods.cache.for_each("node", name, [&](const auto& pod) {
    current = current && pods.cache.is_current(pod->meta.key());
  });
  return current;
}

void FleetWatch::count_changed() {
  while (!uncounted_.empty()) {
    std::string name = *uncounted_.begin();
    auto changed = view(name);
    if (changed) {
      count(*changed);
    } else {
      uncounted_.erase(name);
    }
  }
}

void FleetWatch::count(const fleet::NodeView& view) {
  std::string name(view.name());
  uncounted_.erase(name);
  // Who gives the slots counts them by itself.
  if (reads_notes() && !own_notes_) {
    if (view.granted) {
      tally_.reserve(name);
    } else {
      tally_.release(name);
    }
  }
  if (rollouts.enabled() && view.driver.set) {
    driver_facts_[name] = {view.driver.set->meta.key().text(),
                           view.driver.is_settled(),
                           view.driver.is_out_of_sync(),
                           "",
                           "",
                           {},
                           {}};
    if (const auto& pod = view.driver.pod) {
      DriverFacts& facts = driver_facts_[name];
      facts.revision = std::string(pod->meta.labels.get(fleet::revision_label));
      facts.image = fleet::driver_image_of(pod->spec);
      facts.pod = pod->meta.uid;
      facts.pod_created = pod->meta.created;
    }
  } else {
    driver_facts_.erase(name);
  }
  // A node in the middle of its upgrade keeps its place while its DaemonSet and its pod are gone
  // for a moment, as when somebody creates the DaemonSet anew.
  fleet::State state = fleet::state_of(*view.node, rules_.keys);
  // The same holds for the rest of them while there is no driver DaemonSet at all: one that is
  // cordoned or not Ready is out of service with or without a driver.
  bool between = driver_sets_.empty() && state != fleet::State::unknown;
  bool counts =
      view.driver.wanted() || fleet::is_active(state) || state == fleet::State::failed || between;
  bool changed = counts ? tally_.update(name, upgrade::facts_of(view, policy(view.pool), rules_))
                        : tally_.remove(name);
  if (!changed) return;
  for (const auto& listener : pool_listeners_) listener();
}

std::optional<FleetWatch::SetRevisions> FleetWatch::revisions_of(const std::string& key) const {
  auto slash = key.find('/');
  if (slash == std::string::npos) return std::nullopt;
  auto set = daemon_sets.cache.find(ObjectKey{key.substr(0, slash), key.substr(slash + 1)});
  if (!set) return std::nullopt;
  auto known = newest_.find(set->meta.uid.view());
  // As in a node's view: as long as the two watches do not agree, nothing is known.
  if (known == newest_.end() || known->second.digest != digest_of(set->pod_template)) {
    return std::nullopt;
  }
  auto all = revisions_owned_by(set->meta.uid);
  const ControllerRevision* newest = fleet::newest_revision(all);
  if (newest == nullptr || known->second.hash.empty()) return std::nullopt;
  SetRevisions found;
  found.newest = known->second.hash.str();
  found.newest_image = fleet::driver_image_of(set->pod_template.spec);
  std::erase_if(all, [&](const auto& each) { return each->hash() == newest->hash(); });
  if (const ControllerRevision* previous = fleet::newest_revision(all)) {
    found.previous = std::string(previous->hash());
    found.previous_image = fleet::driver_image_of(previous->pod_template.spec);
  }
  return found;
}

upgrade::PoolView FleetWatch::pool(const std::string& name) const {
  return {name, policy(name), tally_.counts(name), rival()};
}

std::vector<std::string> FleetWatch::nodes() const {
  std::vector<std::string> names;
  nodes_watch.cache.for_each([&](const auto& node) {
    std::string name = node->meta.name.str();
    if (tally_.facts(name) != nullptr) names.push_back(std::move(name));
  });
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

std::vector<std::string> FleetWatch::rolled_driver_sets() const {
  std::vector<std::string> names;
  for (const auto& key : driver_sets_) {
    auto set = daemon_sets.cache.find(key);
    if (set && fleet::is_rolled_by_kubernetes(*set)) names.push_back(key.text());
  }
  return names;
}

std::optional<ObjectReference> FleetWatch::policy_reference() const {
  auto object = cluster_policy();
  if (!object) return std::nullopt;
  return ObjectReference{cluster_policies.api_version(),
                         cluster_policies.kind,
                         "",
                         object->meta.name,
                         object->meta.uid,
                         "",
                         ""};
}

}  // namespace lockstep::controller
