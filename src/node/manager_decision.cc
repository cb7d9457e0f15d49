#include "node/manager_decision.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/strings.h"
#include "node/moving.h"
#include "upgrade/pod_names.h"

namespace lockstep::node {

namespace {

using Maybe = std::optional<ManagerDecision>;
using upgrade::counted;
using upgrade::name_pods;
using upgrade::name_some;

// Closing a device causes no event.
constexpr Duration device_heartbeat = seconds(1);
// A process takes a moment to end after its pod is gone.
constexpr Duration device_patience = seconds(30);
// A drain evicts pods that use no GPU at all, too.
constexpr Duration drain_patience = minutes(1);

struct Situation {
  const ManagerView& view;
  const ManagerSettings& settings;
  OperandLabels labels;

  const Node& node() const { return *view.node; }
};

ManagerDecision act(ManagerStep step, ManagerAction action, std::string says) {
  return {step, std::move(action), std::move(says), std::nullopt};
}

ManagerDecision give_up(ManagerStep step, ErrorKind kind, std::string why) {
  return {step, Error{kind, why, ""}, why, std::nullopt};
}

// Waits, but not for longer than the settings say.
ManagerDecision wait_for(const Situation& situation, ManagerStep step, std::string what) {
  Duration limit = situation.settings.wait_limit;
  Duration left = limit - situation.view.at(step);
  if (left > Duration::zero()) return {step, std::monostate(), std::move(what), left};
  return give_up(step, ErrorKind::timed_out,
                 fmt::format("{}; gave up after {}", what, format_duration(limit)));
}

std::string list_labels(const NodePatch& patch) {
  std::vector<std::string> names;
  for (const auto& [name, value] : patch.labels) names.push_back(name);
  return name_some(names, names.size());
}

Maybe decide_host_driver(const Situation& situation) {
  const auto& version = situation.view.installed_driver;
  if (!version) return std::nullopt;
  std::string found = fmt::format("driver {} is installed on the host", *version);
  if (auto patch = leave_to_host_driver(situation.node(), situation.labels)) {
    return act(ManagerStep::host_driver, *patch,
               fmt::format("{}: labels the node {}={}", found, driver_label, pre_installed_value));
  }
  Duration left = situation.settings.installed_wait - situation.view.at(ManagerStep::host_driver);
  if (left <= Duration::zero()) return act(ManagerStep::finish, Finish{true}, found);
  return ManagerDecision{ManagerStep::host_driver, std::monostate(),
                         found + ": waits until this driver pod is deleted", left};
}

// There is nothing to unload, or nothing any more: what is left behind goes, and the node is
// restored. Everything ends here, whatever happened before.
ManagerDecision settle(const Situation& situation, const std::string& why, bool keep_digest) {
  const HostView& host = situation.view.host;
  CleanUp clean{host.driver_mounts, {}};
  if (!host.process_file.empty()) clean.files.push_back(host.process_file);
  if (!host.digest_file.empty() && !keep_digest) clean.files.push_back(host.digest_file);
  if (!clean.mounts.empty() || !clean.files.empty()) {
    std::vector<std::string> names = clean.mounts;
    names.insert(names.end(), clean.files.begin(), clean.files.end());
    return act(ManagerStep::clean_up, std::move(clean),
               fmt::format("{}: removes what the old driver left behind: {}", why,
                           name_some(names, names.size())));
  }
  if (auto patch = restore_node(situation.node(), situation.labels)) {
    std::string says = why + ": restores the node";
    if (!patch->labels.empty()) says += ", sets to true " + list_labels(*patch);
    if (patch->unschedulable) says += ", uncordons it";
    return act(ManagerStep::restore, std::move(*patch), std::move(says));
  }
  return act(ManagerStep::finish, Finish{}, why + ": the driver container may start");
}

// Any tenant can give a DaemonSet of its own a node selector by the same labels.
bool may_be_operands(std::string_view ns, const ManagerSettings& settings) {
  const auto& near = settings.clients.namespaces;
  const auto& named = settings.clients.named;
  return ns == settings.operator_namespace ||
         std::find(near.begin(), near.end(), ns) != near.end() ||
         std::any_of(named.begin(), named.end(),
                     [&](const std::string& name) { return ObjectKey::parse(name).ns == ns; });
}

// Pods of DaemonSets that were sent away by one of these labels, and have not gone.
std::vector<fleet::PodPtr> sent_away(const Situation& situation,
                                     const std::vector<std::string>& labels) {
  std::vector<fleet::PodPtr> pods;
  for (const PodHere& here : situation.view.pods) {
    if (here.pod().is_finished() || !here.pod().is_owned_by_daemon_set()) continue;
    if (!may_be_operands(here.pod().meta.ns, situation.settings)) continue;
    bool is_sent = std::any_of(labels.begin(), labels.end(), [&](const std::string& label) {
      return situation.node().meta.labels.get(label) == paused_value &&
             here.node_selector.contains(label) && here.node_selector.get(label) != paused_value;
    });
    if (is_sent) pods.push_back(here.entry.pod);
  }
  return pods;
}

Maybe decide_operands(const Situation& situation) {
  if (auto patch = pause_operands(situation.node(), situation.labels.first)) {
    std::string says = fmt::format("sets to {} {}", paused_value, list_labels(*patch));
    return act(ManagerStep::pause_operands, std::move(*patch), std::move(says));
  }
  auto pods = sent_away(situation, situation.labels.first);
  if (pods.empty()) return std::nullopt;
  return wait_for(situation, ManagerStep::wait_for_operands,
                  fmt::format("waits for {} to end: {}", counted(pods.size(), "operand pod"),
                              name_pods(pods, pods.size())));
}

// Why moving these pods has failed; nothing: it has not, yet.
std::optional<Error> failure_of(const Situation& situation, const Moving& moving,
                                ManagerStep step) {
  if (!moving.protected_pods.empty()) {
    return Error{
        ErrorKind::conflict,
        fmt::format("{} must not be evicted: {}", counted(moving.protected_pods.size(), "pod"),
                    name_some(moving.protected_pods, 20)),
        ""};
  }
  Duration limit = situation.settings.drain_timeout;
  if (limit == Duration::zero() || situation.view.at(step) < limit) return std::nullopt;
  return Error{ErrorKind::timed_out,
               fmt::format("{}; gave up after {} (DRAIN_TIMEOUT_SECONDS)", describe(moving),
                           format_duration(limit)),
               ""};
}

ManagerDecision evict(const Situation& situation, const Moving& moving, ManagerStep step) {
  ManagerDecision decision{step, std::monostate(), describe(moving), moving.next_try};
  Duration limit = situation.settings.drain_timeout;
  if (limit > Duration::zero()) {
    Duration left = limit - situation.view.at(step);
    decision.look_again = std::min(decision.look_again.value_or(left), left);
  }
  if (moving.to_evict.empty()) return decision;
  upgrade::PodRemovals removals;
  for (const auto& pod : moving.to_evict) removals.push_back({pod, upgrade::Removal::evict});
  decision.action = std::move(removals);
  decision.says = fmt::format("evicts {}: {}", counted(moving.to_evict.size(), "pod"),
                              name_pods(moving.to_evict));
  return decision;
}

Maybe decide_cordon(const Situation& situation) {
  auto patch = cordon_node(situation.node());
  if (!patch) return std::nullopt;
  return act(ManagerStep::cordon, std::move(*patch), "cordons the node");
}

Maybe decide_drain(const Situation& situation, const std::string& why) {
  if (auto cordon = decide_cordon(situation)) return cordon;
  Moving moving = move_all_pods(situation.view, situation.settings);
  if (moving.empty()) return std::nullopt;
  if (auto failure = failure_of(situation, moving, ManagerStep::drain)) {
    return give_up(ManagerStep::drain, failure->kind,
                   fmt::format("{}; the drain of the node failed too: {}", why, failure->message));
  }
  ManagerDecision decision = evict(situation, moving, ManagerStep::drain);
  decision.says = fmt::format("drains the node, because {}: {}", why, decision.says);
  return decision;
}

Maybe decide_moving(const Situation& situation) {
  const ManagerSettings& settings = situation.settings;
  if (settings.evict_gpu_pods) {
    if (auto cordon = decide_cordon(situation)) return cordon;
  }
  Moving moving = move_gpu_pods(situation.view, settings);
  if (moving.empty()) return std::nullopt;
  std::string why = "GPU pods run on the node and their eviction is disabled";
  if (settings.evict_gpu_pods) {
    auto failure = failure_of(situation, moving, ManagerStep::evict);
    if (!failure) return evict(situation, moving, ManagerStep::evict);
    if (!settings.drain) return give_up(ManagerStep::evict, failure->kind, failure->message);
    why = "the GPU pods could not be evicted: " + failure->message;
  } else if (!settings.drain) {
    return wait_for(situation, ManagerStep::evict,
                    fmt::format("{}, and so is the drain: {}", why, describe(moving)));
  }
  if (auto drain = decide_drain(situation, why)) return drain;
  // The selector of the drain leaves them out.
  return give_up(ManagerStep::drain, ErrorKind::conflict,
                 fmt::format("{}, and DRAIN_POD_SELECTOR_LABEL leaves out {}", why,
                             name_pods(moving.leaving)));
}

Maybe decide_claims(const Situation& situation) {
  std::vector<fleet::PodPtr> holders;
  for (const PodHere& here : situation.view.pods) {
    if (here.holds_gpu_claim && !here.pod().is_finished()) holders.push_back(here.entry.pod);
  }
  if (holders.empty()) return std::nullopt;
  return wait_for(
      situation, ManagerStep::claims,
      fmt::format("refuses to unload the driver while {} a GPU claim: {}",
                  holders.size() == 1 ? "a pod holds" : "pods hold", name_pods(holders)));
}

std::string daemon_set_of(const Pod& pod) {
  const OwnerReference* owner = pod.meta.controller();
  return owner == nullptr ? std::string() : pod.meta.ns.str() + "/" + owner->name.str();
}

bool is_client(const Pod& pod, const fleet::ClientOptions& options) {
  const OwnerReference* owner = pod.meta.controller();
  if (owner == nullptr || !pod.is_owned_by_daemon_set()) return false;
  auto client = fleet::find_driver_client(pod.meta.ns, owner->name, pod.meta.labels, options);
  return client && !client->reopens_driver;
}

Maybe decide_plugin(const Situation& situation) {
  if (auto patch = pause_operands(situation.node(), situation.labels.last)) {
    std::string says = fmt::format("sets to {} {}", paused_value, list_labels(*patch));
    return act(ManagerStep::stop_plugin, std::move(*patch), std::move(says));
  }
  std::vector<fleet::PodPtr> ending = sent_away(situation, situation.labels.last);
  upgrade::PodRemovals removals;
  // The successor may have opened the old driver before it was unloaded.
  const ManagerView& view = situation.view;
  bool again = !busy_modules(view.host.modules).empty() && view.quiet >= device_patience &&
               view.at(ManagerStep::devices) < situation.settings.wait_limit;
  for (const PodHere& here : view.pods) {
    const Pod& pod = here.pod();
    std::string set = daemon_set_of(pod);
    if (pod.is_finished() || !is_client(pod, situation.settings.clients)) continue;
    if (std::find(ending.begin(), ending.end(), here.entry.pod) != ending.end()) continue;
    if (pod.meta.is_deleting()) {
      ending.push_back(here.entry.pod);
    } else if (again || !view.restarted_clients.contains(set)) {
      removals.push_back({here.entry.pod, upgrade::Removal::remove});
    }
  }
  if (!removals.empty()) {
    std::string says =
        fmt::format("deletes {}, which holds the driver open: its DaemonSet creates it again",
                    upgrade::name_pod(*removals.front().pod));
    return act(ManagerStep::stop_plugin, std::move(removals), std::move(says));
  }
  if (ending.empty()) return std::nullopt;
  return wait_for(situation, ManagerStep::stop_plugin,
                  fmt::format("waits for {} to end: {}", counted(ending.size(), "plugin pod"),
                              name_pods(ending)));
}

std::string describe_use(const HostView& host) {
  std::string text =
      "the driver is in use: " + name_some(busy_modules(host.modules), host.modules.size());
  if (host.holders.empty()) return text + ", by no process that is visible from here";
  std::vector<std::string> names;
  for (const auto& holder : host.holders) {
    names.push_back(fmt::format("process {} ({})", holder.process, holder.program));
  }
  return text + ", by " + name_some(names, 10);
}

Maybe decide_devices(const Situation& situation) {
  const ManagerView& view = situation.view;
  if (busy_modules(view.host.modules).empty()) return std::nullopt;
  std::string use = describe_use(view.host);
  Duration waited = std::min(view.at(ManagerStep::devices), view.quiet);
  bool may_drain =
      situation.settings.drain &&
      !is_controller_in_charge(situation.node(), fleet::Keys(situation.settings.key_domain));
  // A pod that uses a GPU without requesting one is on no list.
  if (may_drain && view.at(ManagerStep::devices) >= drain_patience) {
    if (auto drain = decide_drain(situation, use)) return drain;
  }
  if (view.at(ManagerStep::devices) < situation.settings.wait_limit ||
      waited < std::min(device_patience, situation.settings.wait_limit)) {
    return ManagerDecision{ManagerStep::devices, std::monostate(),
                           "waits for devices to be closed: " + use, device_heartbeat};
  }
  return give_up(
      ManagerStep::devices, ErrorKind::timed_out,
      fmt::format("{}; gave up after {}", use, format_duration(situation.settings.wait_limit)));
}

ManagerDecision decide_unload(const Situation& situation) {
  std::vector<std::string> order = unload_order(situation.view.host.modules);
  std::string names = name_some(order, order.size());
  if (situation.view.at(ManagerStep::unload) >= situation.settings.wait_limit) {
    return give_up(
        ManagerStep::unload, ErrorKind::timed_out,
        fmt::format("{} could not be unloaded within {}: {}", names,
                    format_duration(situation.settings.wait_limit), situation.view.unload_error));
  }
  return act(ManagerStep::unload, UnloadModules{std::move(order)}, "unloads " + names);
}

}  // namespace

ManagerDecision decide_manager(const ManagerView& view, const ManagerSettings& settings) {
  Situation situation{view, settings, operand_labels(settings.plugin_label)};
  if (auto host = decide_host_driver(situation)) return *host;
  if (unload_order(view.host.modules).empty()) {
    return settle(situation, "no driver is loaded", false);
  }
  bool is_same = !settings.digest.empty() && settings.digest == view.host.digest;
  if (is_same && !settings.force_reinstall) {
    return settle(situation, "the loaded driver has the same configuration", true);
  }
  if (auto decision = decide_operands(situation)) return *decision;
  if (!is_controller_in_charge(*view.node, fleet::Keys(settings.key_domain))) {
    if (auto decision = decide_moving(situation)) return *decision;
  }
  using Rule = Maybe (*)(const Situation&);
  for (Rule rule : {Rule(decide_claims), Rule(decide_plugin), Rule(decide_devices)}) {
    if (auto decision = rule(situation)) return *decision;
  }
  return decide_unload(situation);
}

}  // namespace lockstep::node
