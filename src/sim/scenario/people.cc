#include "sim/scenario/people.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace lockstep::sim {

namespace {

using fleet::State;

template <typename T>
Result<void> outcome_of(const Result<T>& result) {
  if (!result) return fail(result.error());
  return {};
}

}  // namespace

Result<void> People::take(const Interference& step, int nodes) {
  Result<void> taken;
  if (take_for_all(step, nodes, taken)) return taken;
  for (const auto& name : step.nodes.names(nodes)) {
    if (!cluster_.kubelets().is_there(name)) continue;
    LOCKSTEP_CHECK(step.action == "taint" ? taint(name, step.value) : steer(step.action, name));
  }
  return {};
}

bool People::take_for_all(const Interference& step, int nodes, Result<void>& taken) {
  const std::string& action = step.action;
  if (action == "setVersion") {
    taken = set_version(std::string(as_text(&step.value)));
  } else if (action == "setChart") {
    std::string chart = fmt::format("gpu-operator-{}", as_text(&step.value));
    taken = patch_policy(
        JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{"helm.sh/chart", chart}}}}}});
  } else if (action == "setPolicy") {
    taken = patch_policy(
        JsonObject{{"spec", JsonObject{{"driver", JsonObject{{"upgradePolicy", step.value}}}}}});
  } else if (action == "cosmeticChange") {
    taken = patch_policy(
        JsonObject{{"spec", JsonObject{{"daemonsets", JsonObject{{"annotations", step.value}}}}}});
  } else if (action == "pause" || action == "resume") {
    Json value = action == "pause" ? step.value : Json(nullptr);
    taken = patch_policy(JsonObject{
        {"metadata",
         JsonObject{{"annotations", JsonObject{{fleet::paused_annotation, std::move(value)}}}}}});
  } else if (action == "rollout") {
    taken = outcome_of(rollout_.command(std::string(as_text(&step.value))));
  } else if (action == "setRollout") {
    taken = outcome_of(rollout_.change_spec(step.value));
  } else if (action == "setMatrix") {
    taken = set_matrix(step.value);
  } else if (action == "cutGit") {
    rollout_.cut_git(parse_duration(as_text(&step.value)).value_or(Duration(0)));
  } else if (action == "setXidRates") {
    rollout_.set_xid_rates(read_again(step.value, read_rates));
  } else if (action == "addClaims") {
    taken = add_claims(static_cast<int>(step.share.of(nodes, Rounding::up)));
  } else if (action == "evictWork") {
    taken = remove_pods("ml-training");
  } else if (action == "restoreLedger") {
    taken = restore_ledger();
  } else if (action == "restartOperator") {
    taken = remove_pods(std::string(operator_namespace), "gpu-operator");
  } else if (action == "stopOperator") {
    taken = outcome_of(cluster_.call(
        kube::patch(resource::deployments, {std::string(operator_namespace), "gpu-operator"},
                    kube::PatchType::merge, JsonObject{{"spec", JsonObject{{"replicas", 0}}}})));
  } else {
    return false;
  }
  return true;
}

Result<void> People::set_version(const std::string& version) {
  const std::string written = written_version(scenario_.fleet.image_naming, version);
  if (rollout_.has_git()) return rollout_.commit_version(written);
  if (scenario_.fleet.nvidia_drivers.empty()) {
    return outcome_of(cluster_.set_driver_version(written, scenario_.to_chart));
  }
  std::string name(text_at(scenario_.rollout, "driver", "name"));
  if (name.empty()) name = scenario_.fleet.nvidia_drivers.begin()->first;
  return outcome_of(cluster_.set_nvidia_driver_version(name, written));
}

Result<void> People::set_matrix(const Json& values) {
  rollout::MatrixEntries entries;
  for (const auto& [key, value] : values.get_object()) {
    entries.emplace_back(std::string(key), std::string(as_text(&value)));
  }
  return rollout_.commit_versions(entries);
}

Result<void> People::add_claims(int pods) {
  WorkloadOptions workloads;
  workloads.claim_pods = pods;
  for (const auto& request : workload_requests(workloads)) {
    LOCKSTEP_CHECK(outcome_of(cluster_.call(request)));
  }
  return {};
}

Result<void> People::remove_pods(const std::string& ns, std::string_view app) {
  for (const auto& pod : cluster_.list(resource::pods, ns)) {
    if (!app.empty() && text_at(*pod, "metadata", "labels", "app") != app) continue;
    LOCKSTEP_CHECK(outcome_of(cluster_.call(
        kube::remove(resource::pods, {ns, std::string(text_at(*pod, "metadata", "name"))}))));
  }
  return {};
}

// From a backup of a cluster that has been there for longer.
Result<void> People::restore_ledger() {
  const ObjectKey key{"lockstep-system", "lockstep-slots"};
  (void)cluster_.call(kube::remove(resource::config_maps, key));
  JsonObject slots;
  for (const std::string& node : cluster_.kubelets().node_names()) slots[node] = "90000000";
  return outcome_of(cluster_.call(kube::create(
      resource::config_maps, key.ns,
      JsonObject{{"apiVersion", "v1"},
                 {"kind", "ConfigMap"},
                 {"metadata",
                  JsonObject{{"name", key.name},
                             {"annotations", JsonObject{{"lockstep.dev/nodes-seen", "90000001"}}}}},
                 {"data", std::move(slots)}})));
}

Result<void> People::retry_failed() {
  for (const Document& node : cluster_.list(resource::nodes)) {
    const Json* labels = find(*node, "metadata", "labels");
    if (labels == nullptr) continue;
    if (fleet::state_of(as_text(find(*labels, keys_.state))) != State::failed) continue;
    LOCKSTEP_CHECK(steer("retry", std::string(text_at(*node, "metadata", "name"))));
  }
  return {};
}

Result<void> People::steer(const std::string& action, const std::string& node) {
  if (action == "cordon" || action == "uncordon") {
    Json value = action == "cordon" ? Json(true) : Json(nullptr);
    return patch_node(node, JsonObject{{"spec", JsonObject{{"unschedulable", std::move(value)}}}});
  }
  if (action == "repair") {
    cluster_.kubelets().set_behaviour(node, {});
    return {};
  }
  if (action == "ready" || action == "notReady") {
    cluster_.kubelets().set_ready(node, action == "ready");
    return {};
  }
  auto label = [&](const std::string& key, Json value) {
    return patch_node(
        node,
        JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{key, std::move(value)}}}}}});
  };
  if (action == "retry") return label(keys_.state, Json(to_string(State::required)));
  if (action == "request") {
    JsonObject asks{{keys_.requested, "true"}};
    return patch_node(node, JsonObject{{"metadata", JsonObject{{"annotations", std::move(asks)}}}});
  }
  // As their runbooks say, whatever the controller's key domain.
  if (action == "skip") return label(keys_.users_skip, "true");
  if (action == "unskip") return label(keys_.users_skip, nullptr);
  return {};
}

// `effects` by the taint's key.
Result<void> People::taint(const std::string& node, const Json& effects) {
  JsonArray taints;
  for (const auto& [key, effect] : effects.get_object()) {
    taints.push_back(JsonObject{{"key", key}, {"effect", effect}});
  }
  return patch_node(node, JsonObject{{"spec", JsonObject{{"taints", std::move(taints)}}}});
}

Result<void> People::patch_node(const std::string& node, Json patch) {
  auto patched = cluster_.call(
      kube::patch(resource::nodes, {"", node}, kube::PatchType::merge, std::move(patch)));
  // A machine that came back and could not register itself yet: there is nothing to be changed.
  if (!patched && patched.error().kind == ErrorKind::not_found) return {};
  return outcome_of(patched);
}

Result<void> People::patch_policy(Json patch) {
  return outcome_of(cluster_.call(kube::patch(fleet::cluster_policies, {"", "cluster-policy"},
                                              kube::PatchType::merge, std::move(patch))));
}

}  // namespace lockstep::sim
