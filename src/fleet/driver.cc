#include "fleet/driver.h"

#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/format.h>

#include "base/strings.h"
#include "fleet/keys.h"

namespace lockstep::fleet {

namespace {

std::string version_of(const PodSpec& spec) { return version_of_image(driver_image_of(spec)); }

// The DaemonSet controller adds tolerations for them to every pod that it makes.
bool is_tolerated_by_daemon_sets(const Taint& taint) {
  constexpr std::array<std::string_view, 7> keys = {
      "node.kubernetes.io/not-ready",          "node.kubernetes.io/unreachable",
      "node.kubernetes.io/disk-pressure",      "node.kubernetes.io/memory-pressure",
      "node.kubernetes.io/pid-pressure",       "node.kubernetes.io/unschedulable",
      "node.kubernetes.io/network-unavailable"};
  return std::find(keys.begin(), keys.end(), taint.key.view()) != keys.end();
}

}  // namespace

bool DriverOptions::covers(std::string_view ns) const {
  return std::find(namespaces.begin(), namespaces.end(), ns) != namespaces.end();
}

bool looks_like_driver(const StringMap& labels) {
  return labels.get("app") == "nvidia-driver-daemonset" ||
         labels.get("app.kubernetes.io/component") == "nvidia-driver";
}

bool looks_like_driver(const DaemonSet& set) {
  return looks_like_driver(set.meta.labels) || looks_like_driver(set.pod_template.labels);
}

bool looks_like_operator(const StringMap& labels) {
  return labels.get("app") == "gpu-operator" ||
         labels.get("app.kubernetes.io/component") == "gpu-operator";
}

bool is_driver_daemon_set(const DaemonSet& set, const DriverOptions& options) {
  return options.covers(set.meta.ns) && looks_like_driver(set);
}

bool is_rolled_by_kubernetes(const DaemonSet& set) {
  return !set.update_strategy.empty() && set.update_strategy != "OnDelete";
}

bool is_driver_pod(const Pod& pod, const DriverOptions& options) {
  return options.covers(pod.meta.ns) && looks_like_driver(pod.meta.labels) &&
         (pod.meta.controller() == nullptr || pod.is_owned_by_daemon_set());
}

bool is_validator_pod(const Pod& pod, const DriverOptions& options) {
  return options.covers(pod.meta.ns) && pod.meta.labels.get("app") == options.validator_app &&
         pod.is_owned_by_daemon_set();
}

const Taint* untolerated_taint(const DaemonSet& set, const Node& node) {
  auto tolerates = [](const Toleration& toleration, const Taint& taint) {
    if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
    if (!toleration.key.empty() && toleration.key != taint.key) return false;
    return toleration.op == "Exists" ? true
                                     : !toleration.key.empty() && toleration.value == taint.value;
  };
  for (const Taint& taint : node.taints) {
    if (taint.effect == "PreferNoSchedule" || is_tolerated_by_daemon_sets(taint)) continue;
    const auto& tolerations = set.pod_template.tolerations;
    bool tolerated = std::any_of(tolerations.begin(), tolerations.end(),
                                 [&](const Toleration& each) { return tolerates(each, taint); });
    if (!tolerated) return &taint;
  }
  return nullptr;
}

bool selects(const DaemonSet& set, const Node& node) {
  const StringMap& selector = set.pod_template.node_selector;
  return std::all_of(selector.begin(), selector.end(), [&](const StringMap::Entry& entry) {
    const Text* value = node.meta.labels.find(entry.first);
    return value != nullptr && *value == entry.second;
  });
}

bool wants_pod_on(const DaemonSet& set, const Node& node) {
  return selects(set, node) && untolerated_taint(set, node) == nullptr;
}

const ControllerRevision* newest_revision(
    const std::vector<std::shared_ptr<const ControllerRevision>>& revisions) {
  const ControllerRevision* newest = nullptr;
  for (const auto& revision : revisions) {
    auto rank = [](const ControllerRevision& one) {
      return std::tuple(one.revision, one.meta.created, one.meta.name.view());
    };
    if (newest == nullptr || rank(*revision) > rank(*newest)) newest = revision.get();
  }
  return newest;
}

bool DriverView::is_orphan() const {
  if (pod == nullptr) return false;
  const OwnerReference* owner = pod->meta.controller();
  return owner == nullptr || set == nullptr || owner->uid != set->meta.uid;
}

bool DriverView::is_rolled_by_kubernetes() const {
  return set != nullptr && fleet::is_rolled_by_kubernetes(*set);
}

bool DriverView::is_revision_unknown() const {
  return set != nullptr && pod != nullptr && !is_orphan() && newest_revision.empty();
}

std::optional<ObjectKey> DriverView::set_to_ask() const {
  const OwnerReference* owner = pod == nullptr ? nullptr : pod->meta.controller();
  if (owner != nullptr && owner->kind == "DaemonSet") {
    return ObjectKey{pod->meta.ns.str(), owner->name.str()};
  }
  if (set == nullptr) return std::nullopt;
  return set->meta.key();
}

bool DriverView::is_in_sync() const {
  return pod != nullptr && !is_orphan() && !newest_revision.empty() &&
         pod->meta.labels.get(revision_label) == newest_revision;
}

bool DriverView::is_out_of_sync() const {
  return pod != nullptr && !is_orphan() && !newest_revision.empty() &&
         pod->meta.labels.get(revision_label) != newest_revision;
}

bool is_running_and_ready(const Pod& pod) {
  if (pod.meta.is_deleting() || pod.phase != PodPhase::running || pod.container_statuses.empty()) {
    return false;
  }
  return std::all_of(pod.container_statuses.begin(), pod.container_statuses.end(),
                     [](const ContainerStatus& status) { return status.ready; });
}

bool is_older_than_driver(const Pod& pod, Time driver_ready, bool is_new) {
  const int64_t first_sure = driver_ready.unix_seconds() + (is_new ? 0 : 1);
  return std::any_of(pod.container_statuses.begin(), pod.container_statuses.end(),
                     [&](const ContainerStatus& status) {
                       return status.running() && status.started.unix_seconds() < first_sure;
                     });
}

bool DriverView::is_settled() const { return is_in_sync() && is_running_and_ready(*pod); }

bool DriverView::is_cosmetic_change() const {
  if (set == nullptr || pod == nullptr || is_orphan() || is_revision_unknown()) return false;
  const Text* running = pod->spec.find_environment("DRIVER_CONFIG_DIGEST");
  const Text* wanted_digest = set->pod_template.spec.find_environment("DRIVER_CONFIG_DIGEST");
  return running != nullptr && wanted_digest != nullptr && !running->empty() &&
         *running == *wanted_digest;
}

std::string DriverView::version() const { return pod == nullptr ? "" : version_of(pod->spec); }

std::string DriverView::newest_version() const {
  return set == nullptr ? "" : version_of(set->pod_template.spec);
}

std::string driver_image_of(const PodSpec& spec) {
  // The pod may also have containers of other components, such as nvidia-gds-ctr.
  for (const Container& container : spec.containers) {
    if (container.name == "nvidia-driver-ctr") return container.image.str();
  }
  for (const Container& container : spec.containers) {
    if (!version_of_image(container.image).empty()) return container.image.str();
  }
  return spec.containers.empty() ? std::string() : spec.containers.front().image.str();
}

std::string version_of_image(std::string_view image) {
  // A digest names bytes, not a version. The colon of a port comes before a slash.
  if (auto at = image.find('@'); at != std::string_view::npos) image = image.substr(0, at);
  auto colon = image.rfind(':');
  if (colon == std::string_view::npos || image.find('/', colon) != std::string_view::npos) {
    return {};
  }
  std::string_view tag = image.substr(colon + 1);
  size_t end = 0;
  bool dotted = false;
  while (end < tag.size() && (tag[end] == '.' || (tag[end] >= '0' && tag[end] <= '9'))) {
    dotted = dotted || tag[end] == '.';
    ++end;
  }
  if (!dotted || end == 0 || tag[0] == '.' || (end < tag.size() && tag[end] != '-')) return {};
  return std::string(tag.substr(0, end));
}

std::string loaded_version(std::string_view written) {
  return version_of_image(fmt::format("driver:{}", written));
}

bool is_same_version(std::string_view one, std::string_view other) {
  auto parts_of = [](std::string_view version) {
    std::vector<std::string_view> parts = split(version, '.');
    for (std::string_view& part : parts) {
      part.remove_prefix(std::min(part.find_first_not_of('0'), part.size()));
    }
    while (!parts.empty() && parts.back().empty()) parts.pop_back();
    return parts;
  };
  return parts_of(one) == parts_of(other);
}

}  // namespace lockstep::fleet
