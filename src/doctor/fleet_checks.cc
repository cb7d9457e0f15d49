#include "doctor/fleet_checks.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "rollout/compatibility_check.h"

namespace lockstep::doctor {

namespace {

using fleet::State;

bool is_alive(const Lease& lease, Time now) {
  if (lease.holder.empty() || !lease.renewed.is_set()) return false;
  return lease.renewed + seconds(std::max(lease.duration_seconds, 1)) >= now;
}

std::vector<const Lease*> living_leases(const ClusterView& view) {
  std::vector<const Lease*> living;
  for (const Lease& lease : view.leases) {
    if (is_alive(lease, view.now)) living.push_back(&lease);
  }
  return living;
}

std::string removal_of(const Pod& pod) {
  return fmt::format("kubectl -n {} delete pod {}", pod.meta.ns.view(), pod.meta.name.view());
}

}  // namespace

Check check_conflicting_controllers(const ClusterView& view) {
  const std::string name = fleet::ReasonName(fleet::Reason::conflicting_controller).str();
  if (view.conflicting_controller) {
    return {name,
            Verdict::wrong,
            view.conflicting_controller->text,
            {view.conflicting_controller->remedy},
            "kubectl get clusterpolicies -o name | xargs -I% kubectl patch % --type=merge -p "
            "'{\"spec\":{\"driver\":{\"upgradePolicy\":{\"autoUpgrade\":false}}}}'; "
            "lockstep install --set controller.keyDomain=lockstep.dev"};
  }
  const std::vector<const Lease*> living = living_leases(view);
  std::vector<std::string> others;
  std::vector<std::string> imitations;
  std::string other;
  for (const Lease* lease : living) {
    if (lease->meta.ns == view.ns) continue;
    const bool is_installed = view.installed_in.contains(lease->meta.ns.view());
    (is_installed ? others : imitations)
        .push_back(fmt::format("{}: {}", lease->meta.key().text(), lease->holder.view()));
    if (is_installed && other.empty()) other = lease->meta.ns.str();
  }
  if (!others.empty()) {
    return {name, Verdict::wrong,
            fmt::format("{} of Lockstep in other namespaces would upgrade the same nodes",
                        counted(others.size(), "controller")),
            std::move(others), fmt::format("lockstep uninstall -n {}", other)};
  }
  if (!imitations.empty()) {
    return {name, Verdict::warning,
            fmt::format("{} of a controller in other namespaces, where no account has a "
                        "controller's rights; commands ignore them",
                        counted(imitations.size(), "Lease")),
            std::move(imitations),
            "kubectl get leases -A --field-selector metadata.name=lockstep-controller"};
  }
  return fine(name, "no other controller upgrades these nodes");
}

Check check_controller(const ClusterView& view) {
  const std::string name = "Controller";
  for (const Lease* lease : living_leases(view)) {
    if (lease->meta.ns == view.ns) return fine(name, fmt::format("{} leads", lease->holder.view()));
  }
  auto waits = [&](const fleet::NodeView& node) {
    State state = fleet::state_of(*node.node, view.keys);
    return fleet::is_active(state) || state == State::required || node.driver.is_out_of_sync();
  };
  auto waiting = static_cast<size_t>(std::count_if(view.nodes.begin(), view.nodes.end(), waits));
  std::string fix = fmt::format("kubectl -n {0} get pods; lockstep install -n {0} --wait", view.ns);
  if (waiting == 0) {
    return {
        name, Verdict::warning, "no controller is the leader; no node waits for one now", {}, fix};
  }
  return {name,
          Verdict::wrong,
          fmt::format("no controller is the leader, and {} wait{} for one",
                      counted(waiting, "node"), waiting == 1 ? "s" : ""),
          {},
          fix};
}

Check check_cordons(const ClusterView& view) {
  const std::string name = "OrphanedCordons";
  std::vector<std::string> ours;
  std::vector<std::string> others;
  for (const auto& node : view.all_nodes) {
    if (!node->unschedulable) continue;
    State state = fleet::state_of(*node, view.keys);
    bool at_rest = state == State::done || state == State::unknown;
    if (!at_rest) continue;
    (fleet::is_cordoned_by_us(*node) ? ours : others).push_back(node->meta.name.str());
  }
  if (!ours.empty()) {
    return {name, Verdict::wrong,
            fmt::format("{} cordoned by an upgrade that has ended: {}",
                        counted(ours.size(), "node"), name_some(ours)),
            ours,
            fmt::format("kubectl uncordon {0} && kubectl annotate node {0} {1}-", join(ours, " "),
                        fleet::cordon_annotation)};
  }
  if (!others.empty()) {
    return {name, Verdict::warning,
            fmt::format("{} cordoned by a user, not by an upgrade; they count as unavailable: {}",
                        counted(others.size(), "node"), name_some(others)),
            others, "kubectl uncordon " + join(others, " ")};
  }
  return fine(name, "no node is cordoned without an upgrade");
}

Check check_labels(const ClusterView& view) {
  const std::string name = "OrphanedLabels";
  std::set<std::string> with_driver;
  for (const auto& node : view.nodes) with_driver.insert(std::string(node.name()));
  // The other of the two domains in which an upgrade may be written down.
  const fleet::Keys foreign(view.keys.domain == "nvidia.com" ? "lockstep.dev" : "nvidia.com");
  Check check{name, Verdict::wrong, ""};
  std::vector<std::string> fixes;
  auto add = [&](const Node& node, const std::string& key, std::string_view why) {
    check.evidence.push_back(
        fmt::format("{}: {}={}: {}", node.meta.name.view(), key, node.meta.labels.get(key), why));
    fixes.push_back(fmt::format("kubectl label node {} {}-", node.meta.name.view(), key));
  };
  for (const auto& node : view.all_nodes) {
    std::string_view label = node->meta.labels.get(view.keys.state);
    if (fleet::has_strange_state(*node, view.keys)) {
      add(*node, view.keys.state, "is not a valid state");
    } else if (!label.empty() && !with_driver.contains(node->meta.name.str())) {
      add(*node, view.keys.state, "the node has no GPU driver");
    }
    if (fleet::is_active(fleet::state_of(*node, foreign))) {
      add(*node, foreign.state, "another controller left it in the middle of an upgrade");
    }
  }
  if (check.evidence.empty()) return fine(name, "every upgrade label belongs to a driver");
  check.text = fmt::format("{} without effect", counted(check.evidence.size(), "label"));
  check.fix = join(fixes, "; ");
  return check;
}

namespace {

// By its times it may be from before the driver, and nothing says otherwise: neither the
// controller, which saw it come, nor, for one that started in the very second, the slices that it
// publishes.
bool may_be_older(const fleet::NodeView& node, const Pod& client) {
  const Time ready = node.driver.pod->ready_since;
  const auto& renewed = node.known.renewed;
  const bool is_new = std::find(renewed.begin(), renewed.end(), client.meta.uid) != renewed.end();
  if (!fleet::is_older_than_driver(client, ready, is_new)) return false;
  if (fleet::is_older_than_driver(client, ready, true)) return true;
  const std::string version = node.driver.version();
  return version.empty() || node.slice_versions.empty() ||
         !std::all_of(
             node.slice_versions.begin(), node.slice_versions.end(),
             [&](const auto& published) { return fleet::is_same_version(published, version); });
}

}  // namespace

Check check_plugins(const ClusterView& view) {
  const std::string name = "StalePlugins";
  Check check{name, Verdict::wrong, ""};
  std::vector<std::string> fixes;
  size_t looked_at = 0;
  for (const auto& node : view.nodes) {
    // In the middle of an upgrade it is the upgrade's business.
    if (fleet::is_active(fleet::state_of(*node.node, view.keys))) continue;
    const auto& driver = node.driver.pod;
    if (!driver || !fleet::is_running_and_ready(*driver) || !driver->ready_since.is_set()) continue;
    for (const auto& client : node.clients) {
      if (client.pod == nullptr || client.pod->meta.is_deleting()) continue;
      ++looked_at;
      if (!may_be_older(node, *client.pod)) continue;
      check.evidence.push_back(fmt::format("{}: {} has the previous driver open", node.name(),
                                           client.pod->meta.key().text()));
      fixes.push_back(removal_of(*client.pod));
    }
    std::string version = node.driver.version();
    for (const std::string& published : node.slice_versions) {
      if (version.empty() || fleet::is_same_version(published, version)) continue;
      check.evidence.push_back(fmt::format("{}: ResourceSlices show {}, and {} is loaded",
                                           node.name(), published, version));
    }
  }
  if (check.evidence.empty()) {
    return fine(name, fmt::format("{} checked, none older than its node's driver",
                                  counted(looked_at, "plugin pod")));
  }
  check.text = fmt::format("{} still with the previous driver: claims on these nodes fail",
                           counted(check.evidence.size(), "plugin"));
  check.fix = fixes.empty() ? "lockstep reroll" : join(fixes, "; ");
  return check;
}

Check check_unknown_plugins(const ClusterView& view) {
  const std::string name = "UnknownPlugins";
  if (view.unknown_plugins.empty()) {
    return fine(name, "every DRA plugin that publishes GPUs is known");
  }
  Check check{name, Verdict::wrong, ""};
  std::vector<std::string> sets;
  std::vector<std::string> drivers;
  for (const auto& plugin : view.unknown_plugins) {
    drivers.push_back(plugin.dra_driver);
    check.evidence.push_back(
        fmt::format("{}: published on {}{}{}", plugin.dra_driver, name_some(plugin.nodes),
                    plugin.perhaps.empty() ? "" : ", perhaps by ", join(plugin.perhaps, ", ")));
    sets.insert(sets.end(), plugin.perhaps.begin(), plugin.perhaps.end());
  }
  check.text = fmt::format(
      "ResourceSlices of {} are published by a plugin that Lockstep does not know: an upgrade does "
      "not restart it, and claims fail",
      join(drivers, " and "));
  std::string values;
  for (const std::string& set : sets) {
    values += fmt::format("{}\"{}\"", values.empty() ? "" : ",", set);
  }
  check.fix =
      sets.empty()
          ? "kubectl get daemonsets -A"
          : fmt::format("lockstep install --set-json 'controller.clientDaemonSets=[{}]'", values);
  return check;
}

Check check_claims(const ClusterView& view) {
  const std::string name = "StuckClaims";
  Check check{name, Verdict::wrong, ""};
  std::vector<std::string> fixes;
  for (const auto& claim : view.claims) {
    std::string where = fmt::format("-n {} ", claim->meta.ns.view());
    std::string who = claim->meta.name.str();
    if (claim->meta.is_deleting() && view.now - claim->meta.deleted > view.claim_patience) {
      check.evidence.push_back(fmt::format(
          "{}: deleted {} ago and still present, blocked by {}", claim->meta.key().text(),
          human_duration(view.now - claim->meta.deleted),
          claim->meta.finalizers.empty() ? "no pod" : claim->meta.finalizers.front().view()));
      fixes.push_back(fmt::format("kubectl {}describe resourceclaim {}", where, who));
      continue;
    }
    bool is_old = view.now - claim->meta.created > view.claim_patience;
    for (const auto& consumer : claim->reserved_for) {
      if (consumer.resource != "pods" || !is_old || view.pod_uids.contains(consumer.uid.str())) {
        continue;
      }
      check.evidence.push_back(fmt::format("{}: reserved for pod {}, which no longer exists",
                                           claim->meta.key().text(), consumer.name.view()));
      fixes.push_back(
          fmt::format("kubectl {}patch resourceclaim {} --subresource=status --type=merge -p "
                      "'{{\"status\":{{\"reservedFor\":null}}}}'",
                      where, who));
    }
  }
  if (check.evidence.empty()) {
    return fine(name, fmt::format("{}, none stuck", counted(view.claims.size(), "claim")));
  }
  check.text = fmt::format("{} stuck: no other pod gets their GPUs",
                           counted(check.evidence.size(), "claim"));
  check.fix = join(fixes, "; ");
  return check;
}

Check check_versions(const ClusterView& view) {
  const std::string name = "Versions";
  Check check{name, Verdict::wrong, ""};
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> by_version;
  for (const auto& node : view.nodes) {
    std::string version = node.driver.version();
    if (version.empty()) continue;
    by_version[{version, std::string(node.node->meta.labels.get("nvidia.com/gpu.product"))}]
        .push_back(std::string(node.name()));
  }
  for (const auto& [key, nodes] : by_version) {
    const auto& [version, product] = key;
    if (view.matrix) {
      std::string_view current = view.matrix->value(rollout::Slot::current, "driver");
      std::string_view canary = view.matrix->value(rollout::Slot::canary, "driver");
      if (!fleet::is_same_version(version, current) && !fleet::is_same_version(version, canary)) {
        check.evidence.push_back(fmt::format(
            "driver {} on {} ({}): the matrix says {}{}{}", version, counted(nodes.size(), "node"),
            name_some(nodes, 3), current, canary.empty() ? "" : ", for the canary ", canary));
        check.fix = fmt::format("lockstep why {}", nodes.front());
      }
    }
    if (!view.compatibility) continue;
    rollout::VersionTuple tuple;
    tuple.driver = version;
    if (!product.empty()) tuple.gpus = {product};
    for (const auto& finding : rollout::check_compatibility(tuple, *view.compatibility)) {
      if (finding.verdict != rollout::RuleOutcome::broken) continue;
      check.evidence.push_back(fmt::format("{} ({}): {}", counted(nodes.size(), "node"),
                                           name_some(nodes, 3), finding.message));
      if (check.fix.empty()) check.fix = "lockstep matrix check";
    }
  }
  if (!check.evidence.empty()) {
    check.text =
        fmt::format("{} that should not run there", counted(check.evidence.size(), "version"));
    return check;
  }
  if (by_version.empty()) return skipped(name, "no node reports which driver it runs");
  std::string known = fmt::format("{} of drivers in the fleet, none known to break a rule",
                                  counted(by_version.size(), "version"));
  if (!view.matrix) known += "; with --matrix FILE they are compared with the version matrix, too";
  return fine(name, known);
}

}  // namespace lockstep::doctor
