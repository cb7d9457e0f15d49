#include "upgrade/reroll.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "fleet/driver_clients.h"
#include "upgrade/pod_names.h"

namespace lockstep::upgrade {

namespace {

using SetPtr = std::shared_ptr<const DaemonSet>;

constexpr std::string_view template_generation_annotation =
    "deprecated.daemonset.template.generation";
constexpr std::string_view template_generation_label = "pod-template-generation";
constexpr size_t most_names = 10;

// A driver DaemonSet and what can be said about its pods. Its ControllerRevisions are not read: the
// hook has no right to.
struct DriverSet {
  SetPtr set;
  bool observed = false;                      // its status is about the newest template
  bool all_updated = false;                   // says its controller
  Text generation;                            // of the template; empty: not known
  std::set<std::string, std::less<>> newest;  // hashes of pods that are of that generation

  bool is_current(const Pod& pod) const {
    if (all_updated) return true;
    if (!observed) return false;
    if (!generation.empty() && pod.meta.labels.get(template_generation_label) == generation) {
      return true;
    }
    // After a rollback pods of the same content carry an older number.
    return newest.contains(pod.meta.labels.get(fleet::revision_label));
  }
};

std::string name_set(const DaemonSet& set) {
  return fmt::format("DaemonSet {}/{}", set.meta.ns.view(), set.meta.name.view());
}

std::string name_policy(const GenericObject& policy) {
  return fmt::format("ClusterPolicy {}", policy.meta.name.view());
}

DriverSet read_driver_set(const SetPtr& set, const std::vector<fleet::PodPtr>& pods) {
  DriverSet driver{set, false, false, Text(), {}};
  driver.observed = set->observed_generation >= set->meta.generation;
  driver.all_updated = driver.observed && set->updated >= set->desired;
  driver.generation = Text(set->meta.annotations.get(template_generation_annotation));
  if (driver.generation.empty()) return driver;
  for (const auto& pod : pods) {
    const OwnerReference* owner = pod->meta.controller();
    if (owner == nullptr || owner->uid != set->meta.uid) continue;
    if (pod->meta.labels.get(template_generation_label) != driver.generation) continue;
    driver.newest.insert(std::string(pod->meta.labels.get(fleet::revision_label)));
  }
  return driver;
}

// The operator takes the oldest and calls the others ignored.
const GenericObject* policy_of(const RerollWorld& world) {
  const GenericObject* oldest = nullptr;
  for (const auto& policy : world.cluster_policies) {
    if (oldest == nullptr || policy->meta.created < oldest->meta.created) oldest = policy.get();
  }
  return oldest;
}

bool makes_driver(const GenericObject* policy) {
  if (policy == nullptr) return false;
  const Json* driver = find(*policy->document, "spec", "driver");
  return driver != nullptr && as_bool(find(*driver, "enabled"), true) &&
         !as_bool(find(*driver, "useNvidiaDriverCRD"));
}

// As feature discovery and the operator label nodes, before any driver is there.
bool has_gpu(const Node& node) {
  const Text* deploy = node.meta.labels.find("nvidia.com/gpu.deploy.driver");
  if (deploy != nullptr) return *deploy == "true";
  if (node.meta.labels.get("nvidia.com/gpu.present") == "true") return true;
  return std::any_of(
      node.meta.labels.begin(), node.meta.labels.end(), [](const StringMap::Entry& entry) {
        std::string_view key = entry.first;
        return key.starts_with("feature.node.kubernetes.io/pci-") && key.ends_with(".present") &&
               key.find("10de") != std::string_view::npos && entry.second == "true";
      });
}

// Of several the one that stays: not on its way out, and then the youngest.
bool is_better(const fleet::PodPtr& held, const fleet::PodPtr& pod) {
  if (held == nullptr) return true;
  if (held->meta.is_deleting() != pod->meta.is_deleting()) return held->meta.is_deleting();
  return held->meta.created < pod->meta.created;
}

struct GpuNode {
  std::shared_ptr<const Node> node;
  const DriverSet* set = nullptr;  // null: the pod's DaemonSet is gone
  fleet::PodPtr driver;

  std::string name() const { return node->meta.name.str(); }
  bool driver_is_ready() const {
    return driver != nullptr && driver->ready && fleet::is_running_and_ready(*driver);
  }
};

struct NaturalOrder {
  bool operator()(const std::string& a, const std::string& b) const { return natural_less(a, b); }
};
using GpuNodes = std::map<std::string, GpuNode, NaturalOrder>;

GpuNodes find_gpu_nodes(const RerollWorld& world, const std::vector<DriverSet>& sets,
                        const fleet::DriverOptions& options) {
  std::map<std::string, fleet::PodPtr, std::less<>> drivers;
  for (const auto& pod : world.driver_pods) {
    if (!fleet::is_driver_pod(*pod, options) || pod->node_name.empty()) continue;
    fleet::PodPtr& held = drivers[pod->node_name.str()];
    if (is_better(held, pod)) held = pod;
  }
  GpuNodes found;
  for (const auto& node : world.nodes) {
    GpuNode entry{node, nullptr, nullptr};
    auto driver = drivers.find(node->meta.name.view());
    if (driver != drivers.end()) entry.driver = driver->second;
    const OwnerReference* owner = entry.driver ? entry.driver->meta.controller() : nullptr;
    for (const DriverSet& set : sets) {
      if (owner != nullptr && owner->uid == set.set->meta.uid) {
        entry.set = &set;
      } else if (owner == nullptr && entry.set == nullptr && fleet::wants_pod_on(*set.set, *node)) {
        entry.set = &set;
      }
    }
    if (entry.set != nullptr || entry.driver != nullptr) found[entry.name()] = entry;
  }
  return found;
}

std::string why_not_migrated(const GpuNode& node, const fleet::Keys& keys, bool labels_in_use) {
  if (node.driver == nullptr) return "it has no driver pod";
  if (node.set == nullptr) return "the DaemonSet of its driver pod was deleted";
  if (node.driver->meta.is_deleting()) return "its driver pod is terminating";
  // Where its DaemonSet cannot tell which pods are old, the DaemonSet itself is named.
  if (!node.set->generation.empty() && node.set->observed && !node.set->is_current(*node.driver)) {
    return "its driver pod has an older revision";
  }
  if (!node.driver_is_ready()) return "its driver pod is not ready";
  if (!labels_in_use) return {};
  fleet::State state = fleet::state_of(*node.node, keys);
  if (state == fleet::State::done) return {};
  if (state == fleet::State::unknown) return "it has no upgrade state";
  return std::string(fleet::to_string(state));
}

// Why the reroll does not wait for the node; empty: it waits. The controller that upgrades the node
// later restarts its plugin too.
std::string why_left(const Node& node, const fleet::Keys& keys) {
  const StringMap& annotations = node.meta.annotations;
  if (fleet::is_skipped(node, keys)) {
    const Text* keeper = annotations.find(fleet::kept_back_annotation);
    return keeper != nullptr ? fmt::format("held by rollout {}", keeper->view())
                             : std::string("skipped by its label");
  }
  const Text* rollout = annotations.find(fleet::awaits_rollout_annotation);
  if (rollout != nullptr && fleet::state_of(node, keys) == fleet::State::required) {
    return fmt::format("held by rollout {}", rollout->view());
  }
  return fleet::was_cordoned_by_others(node, keys) ? "cordoned by an administrator" : "";
}

void look_at_policy(const GenericObject* policy, const RerollRules& rules, RerollView& view) {
  if (policy == nullptr || rules.chart_version.empty()) return;
  std::string_view chart = policy->meta.labels.get("helm.sh/chart");
  // As charts write it: a plus sign is not allowed in a label.
  std::string wanted = "-" + rules.chart_version;
  std::replace(wanted.begin(), wanted.end(), '+', '_');
  // Others than Helm's own deployers leave the label out.
  if (chart.empty() || chart.ends_with(wanted)) return;
  view.migrating.push_back(
      {name_policy(*policy), fmt::format("it has {}; {} is expected", chart, rules.chart_version)});
}

// The driver's version that all DaemonSets are to bring; empty: not known, or not the same for all.
std::string wanted_version(const GenericObject* policy, const RerollRules& rules) {
  if (!makes_driver(policy)) return {};
  std::string_view version = rules.driver_version;
  if (version.empty()) version = text_at(*policy->document, "spec", "driver", "version");
  return fleet::version_of_image(fmt::format("driver:{}", version));
}

// `left_out`: how many nodes may stay on an older revision, because they are not waited
// for.
std::vector<RerollWait> look_at_sets(const std::vector<DriverSet>& sets, const std::string& wanted,
                                     int64_t left_out) {
  std::vector<RerollWait> waits;
  for (const DriverSet& entry : sets) {
    const DaemonSet& set = *entry.set;
    fleet::DriverView driver{entry.set, Text(), nullptr};
    // The operator has not reconciled yet: all else still seems as finished as before.
    if (std::string has = driver.newest_version();
        !wanted.empty() && !has.empty() && has != wanted) {
      waits.push_back(
          {name_set(set), fmt::format("it has driver {}; {} is expected", has, wanted)});
    } else if (!entry.observed) {
      waits.push_back({name_set(set), "its controller has not observed the newest template yet"});
    } else if (entry.generation.empty() && set.desired - set.updated > left_out) {
      waits.push_back({name_set(set), fmt::format("{} of {} driver pods have an older revision",
                                                  set.desired - set.updated, set.desired)});
    }
  }
  return waits;
}

void look_at_drivers(const GpuNodes& nodes, const RerollRules& rules, RerollView& view) {
  bool labels_in_use = std::any_of(nodes.begin(), nodes.end(), [&](const auto& entry) {
    return entry.second.node->meta.labels.contains(rules.keys.state);
  });
  for (const auto& [name, node] : nodes) {
    std::string why = why_not_migrated(node, rules.keys, labels_in_use);
    if (why.empty()) continue;
    std::string left = why_left(*node.node, rules.keys);
    auto& list = left.empty() ? view.migrating : view.left;
    list.push_back({name, left.empty() ? std::move(why) : std::move(left)});
  }
}

// What is waited for and what is not, by name.
class Waits {
 public:
  explicit Waits(const RerollView& view) {
    for (const RerollWait& wait : view.migrating) migrating_.insert(wait.where);
    for (const RerollWait& wait : view.left) left_.insert(wait.where);
  }
  bool has_left(const std::string& node) const { return left_.contains(node); }
  // Whether the node's plugin may be restarted at once. What holds for its DaemonSet or for all is
  // not over on any of its nodes. Of nodes that are not waited for: those that have the newest
  // driver anyway, because a user replaced it.
  bool is_done(const GpuNode& node, const GenericObject* policy, const fleet::Keys& keys) const {
    if (has_left(node.name()) && !why_not_migrated(node, keys, false).empty()) return false;
    if (policy != nullptr && migrating_.contains(name_policy(*policy))) return false;
    if (node.set != nullptr && migrating_.contains(name_set(*node.set->set))) return false;
    return !migrating_.contains(node.name());
  }

 private:
  std::set<std::string> migrating_;
  std::set<std::string> left_;
};

// What a plugin's DaemonSet has on a node.
std::map<RerollKey, fleet::PodPtr> find_plugins(const RerollWorld& world,
                                                const std::vector<SetPtr>& sets,
                                                const GpuNodes& nodes) {
  std::set<std::string, std::less<>> uids;
  for (const auto& set : sets) uids.insert(set->meta.uid.str());
  std::map<RerollKey, fleet::PodPtr> plugins;
  for (const auto& pod : world.plugin_pods) {
    const OwnerReference* owner = pod->meta.controller();
    if (owner == nullptr || !uids.contains(owner->uid.view())) continue;
    if (!nodes.contains(pod->node_name.str())) continue;
    fleet::PodPtr& held = plugins[{owner->uid.str(), pod->node_name.str()}];
    if (is_better(held, pod)) held = pod;
  }
  return plugins;
}

void look_at_plugins(const RerollWorld& world, const std::vector<SetPtr>& sets,
                     const GpuNodes& nodes, const GenericObject* policy, const RerollRules& rules,
                     RerollView& view) {
  auto plugins = find_plugins(world, sets, nodes);
  const Waits waits(view);
  view.plugin_pods = static_cast<int64_t>(plugins.size());
  for (const auto& [key, pod] : plugins) {
    const GpuNode& node = nodes.at(key.second);
    auto rerolled = world.rerolled.find(key);
    const Reroll* earlier = rerolled == world.rerolled.end() ? nullptr : &rerolled->second;
    bool is_ready = fleet::is_running_and_ready(*pod);
    bool is_old = earlier != nullptr && pod->meta.uid == earlier->old_uid;
    // One that is still untouched (the deletion failed) is stale as before.
    bool is_outstanding = pod->meta.is_deleting() || (!is_old && !is_ready);
    if (earlier != nullptr && is_outstanding) ++view.outstanding;
    // A plugin is not waited for where its node is not, unless we have restarted it.
    bool is_awaited = earlier != nullptr || !waits.has_left(key.second);
    if (pod->meta.is_deleting()) {
      if (is_awaited) {
        view.starting.push_back({key.second, name_pod(*pod) + " is terminating"});
      }
      continue;
    }
    if (node.driver_is_ready()) {
      Reroll reroll{pod->meta.uid.str(), node.driver->meta.uid.str(), node.driver->ready_since};
      bool is_successor = earlier != nullptr && !is_old &&
                          earlier->driver_uid == reroll.driver_uid &&
                          earlier->driver_ready == reroll.driver_ready;
      if (!is_successor && fleet::is_older_than_driver(*pod, reroll.driver_ready)) {
        if (waits.is_done(node, policy, rules.keys)) {
          view.stale.push_back({key, pod, std::move(reroll)});
        }
        continue;
      }
    }
    if (!is_ready && is_awaited)
      view.starting.push_back({key.second, name_pod(*pod) + " is not ready"});
  }
  for (const auto& [key, reroll] : world.rerolled) {
    bool wanted = std::any_of(sets.begin(), sets.end(),
                              [&](const SetPtr& set) { return set->meta.uid == key.first; });
    // A node that has gone meanwhile is forgotten.
    if (!wanted || plugins.contains(key) || !nodes.contains(key.second)) continue;
    ++view.outstanding;
    view.starting.push_back({key.second, "its new plugin pod does not exist yet"});
  }
  // Of an earlier run that was killed between the deletion and the successor.
  for (const auto& set : sets) {
    auto left = static_cast<int64_t>(view.left.size());
    if (!view.starting.empty() || set->desired - set->current <= left) continue;
    view.starting.push_back(
        {name_set(*set),
         fmt::format("{} of {} pods do not exist yet", set->desired - set->current, set->desired)});
  }
  auto by_node = [](const auto& a, const auto& b) { return natural_less(a, b); };
  std::sort(view.stale.begin(), view.stale.end(), [&](const StalePlugin& a, const StalePlugin& b) {
    return a.key.second == b.key.second ? a.key < b.key : by_node(a.key.second, b.key.second);
  });
  std::sort(view.starting.begin(), view.starting.end(),
            [&](const RerollWait& a, const RerollWait& b) {
              return a.where == b.where ? a.why < b.why : by_node(a.where, b.where);
            });
}

std::string name_waits(const std::vector<RerollWait>& waits) {
  std::vector<std::string> names;
  names.reserve(waits.size());
  for (const auto& wait : waits) names.push_back(fmt::format("{} ({})", wait.where, wait.why));
  return name_some(names, most_names);
}

}  // namespace

bool is_plugin_daemon_set(const DaemonSet& set, const RerollRules& rules) {
  if (rules.plugin_selector) return rules.plugin_selector->matches(set.pod_template.labels);
  // Only objects in the plugin's namespace are considered.
  auto client = fleet::find_driver_client(set, {{set.meta.ns.str()}, {}});
  return client && !client->reopens_driver;
}

RerollView look_at_reroll(const RerollWorld& world, const RerollRules& rules) {
  RerollView view;
  std::vector<SetPtr> plugin_sets;
  for (const auto& set : world.plugin_sets) {
    if (is_plugin_daemon_set(*set, rules) && !set->meta.is_deleting()) plugin_sets.push_back(set);
  }
  if (plugin_sets.empty()) {
    view.nothing_to_do = "no DaemonSet of a DRA plugin exists";
    return view;
  }
  std::vector<DriverSet> driver_sets;
  for (const auto& set : world.driver_sets) {
    if (!fleet::is_driver_daemon_set(*set, rules.drivers)) continue;
    driver_sets.push_back(read_driver_set(set, world.driver_pods));
  }
  const GenericObject* policy = policy_of(world);
  if (policy != nullptr) {
    view.operator_state = text_at(*policy->document, "status", "state");
    if (view.operator_state == "ready") view.operator_state.clear();
  }
  if (driver_sets.empty() && !makes_driver(policy)) {
    view.nothing_to_do = "the operator manages no driver";
    return view;
  }
  GpuNodes nodes = find_gpu_nodes(world, driver_sets, rules.drivers);
  view.gpu_nodes = static_cast<int64_t>(nodes.size());
  if (driver_sets.empty()) {
    view.gpu_nodes = std::count_if(world.nodes.begin(), world.nodes.end(),
                                   [](const auto& node) { return has_gpu(*node); });
    view.migrating.push_back(
        {name_policy(*policy), "the operator has not created the driver's DaemonSet yet"});
  }
  if (view.gpu_nodes == 0) {
    view.migrating.clear();
    view.nothing_to_do = "no GPU node exists";
    return view;
  }
  look_at_policy(policy, rules, view);
  look_at_drivers(nodes, rules, view);
  // First: what holds for all.
  int64_t left_out = std::count_if(nodes.begin(), nodes.end(), [&](const auto& entry) {
    return !why_left(*entry.second.node, rules.keys).empty();
  });
  auto sets = look_at_sets(driver_sets, wanted_version(policy, rules), left_out);
  view.migrating.insert(view.migrating.begin(), sets.begin(), sets.end());
  look_at_plugins(world, plugin_sets, nodes, policy, rules, view);
  return view;
}

std::vector<StalePlugin> choose_rerolls(const RerollView& view, const IntOrPercent& parallel) {
  int64_t most = std::max<int64_t>(1, parallel.of(view.plugin_pods, Rounding::up));
  int64_t free = std::max<int64_t>(0, most - view.outstanding);
  auto count = std::min(view.stale.size(), static_cast<size_t>(free));
  return {view.stale.begin(), view.stale.begin() + static_cast<int64_t>(count)};
}

std::string describe_migration(const RerollView& view) {
  if (view.migrated()) {
    return fmt::format("the driver is done on {}",
                       counted(static_cast<size_t>(view.gpu_nodes) - view.left.size(), "node"));
  }
  auto sets = std::count_if(
      view.migrating.begin(), view.migrating.end(),
      [](const RerollWait& wait) { return wait.where.find(' ') != std::string::npos; });
  auto nodes = static_cast<int64_t>(view.migrating.size()) - sets;
  std::string text = nodes > 0 ? fmt::format("{} of {} nodes {} not done: ", nodes, view.gpu_nodes,
                                             nodes == 1 ? "is" : "are")
                               : std::string();
  text += name_waits(view.migrating);
  if (!view.operator_state.empty()) {
    text += fmt::format("; the ClusterPolicy says {}", view.operator_state);
  }
  return text;
}

std::string describe_left(const RerollView& view) { return name_waits(view.left); }

std::string describe_rollout(const RerollView& view) {
  std::vector<std::string> parts;
  if (!view.migrated()) parts.push_back(describe_migration(view));
  if (!view.stale.empty()) {
    std::vector<std::string> names;
    for (const auto& entry : view.stale) {
      names.push_back(fmt::format("{} ({})", entry.key.second, name_pod(*entry.pod)));
    }
    parts.push_back(fmt::format(
        "{} older than {} driver: {}",
        counted(names.size(), "plugin pod") + (names.size() == 1 ? " is" : " are"),
        names.size() == 1 ? "its node's" : "their node's", name_some(names, most_names)));
  }
  if (!view.starting.empty()) {
    parts.push_back(fmt::format(
        "{} not ready: {}",
        counted(view.starting.size(), "plugin pod") + (view.starting.size() == 1 ? " is" : " are"),
        name_waits(view.starting)));
  }
  return join(parts, "; ");
}

}  // namespace lockstep::upgrade
