#include "sim/actors/object_facts.h"

#include <algorithm>

#include "sim/actors/driver_template.h"
#include "sim/actors/view.h"

namespace lockstep::sim {

namespace {

template <typename Visit>
bool any_in(const Json* list, const Visit& visit) {
  if (list == nullptr || !list->is_array()) return false;
  return std::any_of(list->get_array().begin(), list->get_array().end(), visit);
}

}  // namespace

bool tolerates(const Json& pod_spec, const Taint& taint) {
  if (taint.effect == "PreferNoSchedule") return true;
  const Json* tolerations = find(pod_spec, "tolerations");
  if (tolerations == nullptr || !tolerations->is_array()) return false;
  for (const Json& toleration : tolerations->get_array()) {
    std::string_view key = text_at(toleration, "key");
    std::string_view effect = text_at(toleration, "effect");
    bool any_value = text_at(toleration, "operator") == "Exists";
    if (!key.empty() && taint.key != key) continue;
    if (!effect.empty() && taint.effect != effect) continue;
    if (any_value || taint.value == text_at(toleration, "value")) return true;
  }
  return false;
}

bool is_true_condition(const Json& object, std::string_view type) {
  return any_in(find(object, "status", "conditions"), [&](const Json& condition) {
    return text_at(condition, "type") == type && text_at(condition, "status") == "True";
  });
}

std::string_view label_of(const Json& object, std::string_view key) {
  const Json* labels = find(object, "metadata", "labels");
  return labels == nullptr ? std::string_view() : as_text(find(*labels, key));
}

std::string_view annotation_of(const Json& object, std::string_view key) {
  const Json* annotations = find(object, "metadata", "annotations");
  return annotations == nullptr ? std::string_view() : as_text(find(*annotations, key));
}

bool has_annotation(const Json& object, std::string_view key) {
  const Json* annotations = find(object, "metadata", "annotations");
  return annotations != nullptr && find(*annotations, key) != nullptr;
}

std::optional<fleet::Reason> failure_of(const Json& node) {
  std::string_view failure = annotation_of(node, fleet::failure_annotation);
  if (failure.empty()) return std::nullopt;
  return fleet::Reason::of_failure(failure);
}

const Json* controller_of(const Json& object) {
  const Json* owners = find(object, "metadata", "ownerReferences");
  if (owners == nullptr || !owners->is_array()) return nullptr;
  for (const Json& owner : owners->get_array()) {
    if (as_bool(find(owner, "controller"))) return &owner;
  }
  return nullptr;
}

bool is_of_daemon_set(const Json& pod) {
  const Json* owner = controller_of(pod);
  return owner != nullptr && text_at(*owner, "kind") == "DaemonSet";
}

bool is_skipped_node(const Json& node) {
  return label_of(node, "nvidia.com/gpu-driver-upgrade.skip") == "true" ||
         label_of(node, "lockstep.dev/gpu-driver-upgrade.skip") == "true";
}

namespace {

bool is_near_operator(const Json& object) {
  return text_at(object, "metadata", "namespace") == operator_namespace;
}

bool is_labelled_driver(const Json& object) {
  return label_of(object, "app") == "nvidia-driver-daemonset" ||
         label_of(object, "app.kubernetes.io/component") == "nvidia-driver";
}

bool is_labelled_validator(const Json& object) {
  return label_of(object, "app") == "nvidia-operator-validator";
}

}  // namespace

bool is_driver_set(const Json& daemon_set) {
  const Json* pod_template = find(daemon_set, "spec", "template");
  return is_near_operator(daemon_set) && pod_template != nullptr &&
         is_labelled_driver(*pod_template);
}

bool is_driver_pod(const Json& pod) {
  return is_near_operator(pod) && is_labelled_driver(pod) &&
         (controller_of(pod) == nullptr || is_of_daemon_set(pod));
}

bool is_validator_pod(const Json& pod) {
  return is_near_operator(pod) && is_labelled_validator(pod) && is_of_daemon_set(pod);
}

bool is_operators(const Json& object) {
  return is_near_operator(object) &&
         (label_of(object, "app") == "gpu-operator" ||
          label_of(object, "app.kubernetes.io/component") == "gpu-operator");
}

bool is_lookalike(const Json& pod) {
  if (is_near_operator(pod) || text_at(pod, "metadata", "namespace") == dra_namespace) return false;
  return is_labelled_driver(pod) || is_labelled_validator(pod) ||
         label_of(pod, "nvidia-dra-driver-gpu-component") == "kubelet-plugin";
}

bool is_mirror_pod(const Json& pod) { return has_annotation(pod, "kubernetes.io/config.mirror"); }

bool is_terminating(const Json& object) {
  return find(object, "metadata", "deletionTimestamp") != nullptr;
}

bool has_ended(const Json& pod) {
  std::string_view phase = text_at(pod, "status", "phase");
  return phase == "Succeeded" || phase == "Failed";
}

bool any_container_status(const Json& pod, const std::function<bool(const Json&)>& visit) {
  for (const char* part : {"initContainerStatuses", "containerStatuses"}) {
    const Json* statuses = find(pod, "status", part);
    if (statuses == nullptr || !statuses->is_array()) continue;
    for (const Json& status : statuses->get_array()) {
      if (visit(status)) return true;
    }
  }
  return false;
}

namespace {

bool waits_in(const Json& pod, const std::initializer_list<std::string_view>& reasons) {
  return any_container_status(pod, [&](const Json& status) {
    std::string_view reason = text_at(status, "state", "waiting", "reason");
    return std::find(reasons.begin(), reasons.end(), reason) != reasons.end();
  });
}

}  // namespace

bool waits_for_image(const Json& pod) {
  return waits_in(pod, {"ImagePullBackOff", "ErrImagePull", "InvalidImageName"});
}

bool waits_for_container(const Json& pod) {
  return waits_in(pod, {"CreateContainerConfigError", "CreateContainerError"});
}

bool waits_in_vain(const Json& pod) { return waits_for_image(pod) || waits_for_container(pod); }

bool is_ready_pod(const Json& pod) { return is_true_condition(pod, "Ready"); }

bool asks_for_gpu(const Json& pod) {
  const Json* spec = find(pod, "spec");
  if (spec == nullptr) return false;
  auto asks = [](const Json& container) {
    for (const char* part : {"limits", "requests"}) {
      const Json* amounts = find(container, "resources", part);
      if (amounts == nullptr || !amounts->is_object()) continue;
      for (const auto& [name, amount] : amounts->get_object()) {
        std::string_view resource_name = name;
        if (resource_name.starts_with("nvidia.com/gpu") ||
            resource_name.starts_with("nvidia.com/mig-")) {
          return true;
        }
      }
    }
    return false;
  };
  return has_claims(*spec) || any_in(find(*spec, "containers"), asks) ||
         any_in(find(*spec, "initContainers"), asks);
}

bool has_empty_dir(const Json& pod) {
  return any_in(find(pod, "spec", "volumes"),
                [](const Json& volume) { return find(volume, "emptyDir") != nullptr; });
}

std::string_view config_digest(const Json& pod_spec) {
  std::string_view digest;
  for (const char* part : {"initContainers", "containers"}) {
    any_in(find(pod_spec, part), [&](const Json& container) {
      return any_in(find(container, "env"), [&](const Json& variable) {
        if (text_at(variable, "name") != "DRIVER_CONFIG_DIGEST") return false;
        digest = text_at(variable, "value");
        return !digest.empty();
      });
    });
    if (!digest.empty()) break;
  }
  return digest;
}

}  // namespace lockstep::sim
