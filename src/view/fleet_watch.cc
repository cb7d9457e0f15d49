#include "view/fleet_watch.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "upgrade/slots.h"

namespace lockstep::view {

namespace {

void add_versions(const ResourceSlice& slice, std::vector<std::string>& known) {
  for (const auto& device : slice.devices) {
    const Text* version = device.find_attribute("driverVersion");
    if (version == nullptr) continue;
    if (std::find(known.begin(), known.end(), version->view()) == known.end()) {
      known.push_back(version->str());
    }
  }
}

}  // namespace

FleetWatch::FleetWatch(kube::Api& api, Loop& loop, Random& random, Log& log,
                       FleetWatchOptions options)
    : caches_(api, loop, random, log, options.rollouts),
      options_(std::move(options)),
      rules_{fleet::Keys(options_.key_domain)},
      driver_revisions_(caches_, options_.drivers),
      pool_rules_(loop, options_.key_domain, options_.drivers),
      published_(loop, [this](const std::string& node) { touch(node); }) {
  listen();
}

FleetWatch::~FleetWatch() = default;

Duration FleetWatch::acts_since(const std::string& pool) const {
  return std::max(caches_.sees_since(), pool_rules_.acts_since(pool).value_or(Duration::zero()));
}

void FleetWatch::start() {
  caches_.start();
  if (options_.reads_notes) read_notes();
}

std::shared_ptr<const Node> FleetWatch::node(std::string_view name) const {
  return caches_.nodes().find(kube::KeyView("", name));
}

void FleetWatch::on_pod(kube::Cache<Pod>::Listener listener) {
  caches_.pods().on_change(std::move(listener));
}

void FleetWatch::expect_node(const std::string& name, std::string_view version) {
  caches_.nodes().expect(ObjectKey{"", name}, version);
}

void FleetWatch::expect_pod(const ObjectKey& key, std::string_view version) {
  caches_.pods().expect(key, version);
}

void FleetWatch::expect_pod_gone(const ObjectKey& key, std::string_view uid) {
  caches_.pods().expect_deleted(key, uid);
}

bool FleetWatch::is_node_current(const std::string& name) const {
  return caches_.nodes().is_current(ObjectKey{"", name});
}

const kube::Cache<GenericObject>& FleetWatch::driver_objects(rollout::DriverKind kind) const {
  return kind == rollout::DriverKind::nvidia_driver ? caches_.nvidia_drivers()
                                                    : caches_.cluster_policies();
}

void FleetWatch::expect_driver_object(const rollout::DriverTarget& driver,
                                      std::string_view version) {
  auto& objects = driver.kind == rollout::DriverKind::nvidia_driver ? caches_.nvidia_drivers()
                                                                    : caches_.cluster_policies();
  objects.expect(ObjectKey{"", driver.name}, version);
}

void FleetWatch::on_node(std::function<void(const std::string&)> listener) {
  node_listeners_.push_back(std::move(listener));
}

void FleetWatch::on_pool(std::function<void()> listener) {
  pool_listeners_.push_back(std::move(listener));
}

void FleetWatch::listen() {
  caches_.nodes().on_change([this](const kube::Cache<Node>::Change& change) {
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
  caches_.nodes().on_settled([this](const ObjectKey& key) { touch(key.name); });
  caches_.pods().on_change([this](const kube::Cache<Pod>::Change& change) {
    if (change.before) touch(change.before->node_name);
    if (change.after && (!change.before || change.before->node_name != change.after->node_name)) {
      touch(change.after->node_name);
    }
    if (pool_rules_.see_pod(change.object(), change.after != nullptr)) touch_all();
  });
  caches_.pods().on_settled([this](const ObjectKey& key) {
    if (auto pod = caches_.pods().find(key)) touch(pod->node_name);
  });
  caches_.daemon_sets().on_change([this](const kube::Cache<DaemonSet>::Change& change) {
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
  caches_.deployments().on_change([this](const kube::Cache<Deployment>::Change& change) {
    if (pool_rules_.see_deployment(change.object(), change.after != nullptr)) touch_all();
  });
  caches_.revisions().on_change([this](const kube::Cache<ControllerRevision>::Change& change) {
    auto owner = driver_revisions_.read(change.object());
    // Of DaemonSets that are not drivers the newest revision does not matter.
    const bool matters =
        owner && std::any_of(driver_sets_.begin(), driver_sets_.end(), [&](const ObjectKey& key) {
          auto set = caches_.daemon_sets().find(key);
          return set && set->meta.uid == *owner;
        });
    if (matters) touch_all();
  });
  caches_.claims().on_change([this](const kube::Cache<ResourceClaim>::Change& change) {
    for (const auto& consumer : change.object().reserved_for) {
      auto pod = caches_.pods().find(kube::KeyView(change.object().meta.ns, consumer.name));
      if (pod) touch(pod->node_name);
    }
  });
  caches_.slices().on_change([this](const kube::Cache<ResourceSlice>::Change& change) {
    touch(change.object().node_name);
  });
  auto read_policies = [this] {
    if (pool_rules_.read(caches_)) touch_all();
    touch_all();
  };
  auto on_policy = [=](const kube::Cache<GenericObject>::Change&) { read_policies(); };
  caches_.cluster_policies().on_change(on_policy);
  caches_.nvidia_drivers().on_change(on_policy);
  caches_.rollouts().on_gates(read_policies);
  caches_.notes().on_change([this](const auto& change) { published_.take_notes(change); });
  caches_.ledger().on_change([this](const auto& change) { published_.take_ledger(change); });
}

void FleetWatch::touch(std::string_view node) {
  if (node.empty()) return;
  std::string name(node);
  uncounted_.insert(name);
  for (const auto& listener : node_listeners_) listener(name);
}

void FleetWatch::touch_all() {
  caches_.nodes().for_each([this](const auto& node) { touch(node->meta.name); });
  for (const auto& listener : pool_listeners_) listener();
}

void FleetWatch::touch_daemon_set(const DaemonSet& set) {
  bool matters = fleet::is_driver_daemon_set(set, options_.drivers) ||
                 fleet::find_driver_client(set, options_.clients);
  if (matters) touch_all();
}

std::shared_ptr<const DaemonSet> FleetWatch::driver_set_of(const Node& node, const Pod* pod) const {
  std::shared_ptr<const DaemonSet> wanting;
  const OwnerReference* owner = pod == nullptr ? nullptr : pod->meta.controller();
  // A taint that comes in the middle of an upgrade keeps the new pod away; the upgrade still waits
  // for it.
  bool in_progress = fleet::is_active(fleet::state_of(node, rules_.keys));
  for (const auto& key : driver_sets_) {
    auto set = caches_.daemon_sets().find(key);
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
  auto set = caches_.daemon_sets().find(kube::KeyView(pod.meta.ns.view(), owner->name.view()));
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
  caches_.budgets().for_each("namespace", pod.meta.ns, [&](const auto& budget) {
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
    knowledge().tell_tries(view.node->meta.name, entry);
  }
  view.pods.push_back(std::move(entry));
}

const KnowledgeSource& FleetWatch::knowledge() const {
  return own_knowledge_ == nullptr ? published_ : *own_knowledge_;
}

bool FleetWatch::is_evicting(const Node& node) const {
  fleet::State state = fleet::state_of(node, rules_.keys);
  return state == fleet::State::pod_deletion || state == fleet::State::drain;
}

std::vector<fleet::ClientView> FleetWatch::clients_on(const fleet::NodeView& view) const {
  std::vector<fleet::ClientView> clients;
  for (const ObjectKey& key : client_sets_) {
    auto set = caches_.daemon_sets().find(key);
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
  auto node = this->node(name);
  if (!node) return std::nullopt;
  fleet::NodeView view = begin_view(node);
  auto lookup = [this](std::string_view ns, std::string_view claim) {
    return caches_.claims().find(kube::KeyView(ns, claim));
  };
  bool evicting = is_evicting(*node);
  caches_.pods().for_each("node", node->meta.name,
                          [&](const fleet::PodPtr& pod) { add_pod(pod, lookup, evicting, view); });
  end_view(view);
  knowledge().tell(view);
  return view;
}

fleet::NodeView FleetWatch::view(const FreshNode& fresh) const {
  fleet::NodeView view = begin_view(fresh.node);
  auto lookup = [&](std::string_view ns, std::string_view claim) {
    auto read = fresh.claims.find(kube::KeyView(ns, claim).key());
    return read != fresh.claims.end() ? read->second
                                      : caches_.claims().find(kube::KeyView(ns, claim));
  };
  bool evicting = is_evicting(*fresh.node);
  for (const fleet::PodPtr& pod : fresh.pods) add_pod(pod, lookup, evicting, view);
  end_view(view);
  if (fresh.slices && checks_slices(*view.node)) {
    view.slice_versions.clear();
    for (const auto& slice : *fresh.slices) add_versions(*slice, view.slice_versions);
  }
  knowledge().tell(view);
  return view;
}

fleet::NodeView FleetWatch::begin_view(std::shared_ptr<const Node> node) const {
  fleet::NodeView view;
  view.pool = std::string(node->meta.labels.get(fleet::driver_owner_label));
  view.node = std::move(node);
  return view;
}

void FleetWatch::end_view(fleet::NodeView& view) const {
  const auto& node = view.node;
  view.driver.set = driver_set_of(*node, view.driver.pod.get());
  view.driver.newest_revision = driver_revisions_.newest_of(view.driver);
  caches_.rollouts().add_to(view);
  if (!view.group.empty() && fleet::state_of(*node, rules_.keys) == fleet::State::required) {
    view.held_by_group = upgrade::holds_group(tally_, view.pool, view.group, policy(view.pool));
  }
  if (checks_slices(*node) || (checks_clients() && view.outside_wave)) {
    view.clients = clients_on(view);
  }
  if (checks_slices(*node)) view.slice_versions = published_versions(node->meta.name.str());
}

bool FleetWatch::checks_clients() const {
  return options_.restarts_clients && !options_.clients.empty();
}

bool FleetWatch::checks_slices(const Node& node) const {
  return checks_clients() && fleet::state_of(node, rules_.keys) == fleet::State::validation;
}

bool FleetWatch::runs_gpu_pods(const std::string& node) const {
  auto lookup = [this](std::string_view ns, std::string_view claim) {
    return caches_.claims().find(kube::KeyView(ns, claim));
  };
  bool runs = false;
  caches_.pods().for_each("node", node, [&](const fleet::PodPtr& pod) {
    runs = runs || (pod->phase == PodPhase::running && !is_driver_pod(*pod) &&
                    fleet::uses_gpu(*pod, lookup, options_.gpu_pods));
  });
  return runs;
}

std::vector<std::string> FleetWatch::published_versions(const std::string& node) const {
  std::vector<std::string> known;
  caches_.slices().for_each("node", node, [&](const auto& slice) { add_versions(*slice, known); });
  return known;
}

bool FleetWatch::is_current(const std::string& name) const {
  if (!is_node_current(name)) return false;
  if (caches_.pods().expectations().empty()) return true;
  bool current = true;
  caches_.pods().for_each("node", name, [&](const auto& pod) {
    current = current && caches_.pods().is_current(pod->meta.key());
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
  // The controller that gives the slots counts them by itself.
  if (caches_.reads_notes() && own_knowledge_ == nullptr) {
    if (view.known.granted) {
      tally_.reserve(name);
    } else {
      tally_.release(name);
    }
  }
  if (caches_.rollouts().enabled() && view.driver.set) {
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
  // for a moment, as when the DaemonSet is deleted and created again.
  fleet::State state = fleet::state_of(*view.node, rules_.keys);
  // The same holds for the rest of them while no driver DaemonSet exists: a node that is cordoned
  // or not Ready is out of service with or without a driver.
  bool between = driver_sets_.empty() && state != fleet::State::unknown;
  bool counts =
      view.driver.wanted() || fleet::is_active(state) || state == fleet::State::failed || between;
  bool changed = counts ? tally_.update(name, upgrade::facts_of(view, policy(view.pool), rules_))
                        : tally_.remove(name);
  if (!changed) return;
  for (const auto& listener : pool_listeners_) listener();
}

upgrade::PoolView FleetWatch::pool(const std::string& name) const {
  return {name, pool_rules_.policy(name), tally_.counts(name), conflicting_controller()};
}

std::vector<std::string> FleetWatch::nodes() const {
  std::vector<std::string> names;
  caches_.nodes().for_each([&](const auto& node) {
    std::string name = node->meta.name.str();
    if (tally_.facts(name) != nullptr) names.push_back(std::move(name));
  });
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

std::vector<std::string> FleetWatch::rolled_driver_sets() const {
  std::vector<std::string> names;
  for (const auto& key : driver_sets_) {
    auto set = caches_.daemon_sets().find(key);
    if (set && fleet::is_rolled_by_kubernetes(*set)) names.push_back(key.text());
  }
  return names;
}

std::optional<ObjectReference> FleetWatch::policy_reference() const {
  auto object = caches_.cluster_policy();
  if (!object) return std::nullopt;
  return ObjectReference{fleet::cluster_policies.api_version(),
                         fleet::cluster_policies.kind,
                         "",
                         object->meta.name,
                         object->meta.uid,
                         "",
                         ""};
}

}  // namespace lockstep::view
