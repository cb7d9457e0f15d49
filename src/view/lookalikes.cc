#include "view/lookalikes.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace lockstep::view {

namespace {

constexpr std::string_view like_driver = "the GPU driver";
constexpr std::string_view like_validator = "a validator";
constexpr std::string_view like_plugin = "a DRA plugin";
constexpr std::string_view like_operator = "NVIDIA's GPU Operator";

// Other vendors' plugins have names of the same form.
bool looks_like_plugin(const DaemonSet& set) {
  const StringMap& labels = set.pod_template.labels;
  auto names_nvidia = [](std::string_view text) {
    return text.find("nvidia") != std::string_view::npos;
  };
  bool is_nvidias = names_nvidia(set.meta.name) ||
                    std::any_of(labels.begin(), labels.end(), [&](const StringMap::Entry& entry) {
                      return names_nvidia(entry.first);
                    });
  return fleet::is_own_plugin(labels) ||
         (is_nvidias && fleet::is_nvidia_plugin(set.meta.name, labels));
}

std::string_view likeness_of(const DaemonSet& set, const FleetWatchOptions& options) {
  const bool is_outside = !options.drivers.covers(set.meta.ns);
  if (is_outside && fleet::looks_like_driver(set)) return like_driver;
  if (is_outside && set.pod_template.labels.get("app") == options.drivers.validator_app) {
    return like_validator;
  }
  const bool is_client = fleet::find_driver_client(set, options.clients).has_value();
  return !is_client && looks_like_plugin(set) ? like_plugin : std::string_view();
}

std::string_view likeness_of(const Deployment& deployment, const FleetWatchOptions& options) {
  bool alike = !options.drivers.covers(deployment.meta.ns) &&
               (fleet::looks_like_operator(deployment.meta.labels) ||
                fleet::looks_like_operator(deployment.template_labels));
  return alike ? like_operator : std::string_view();
}

// In the driver's own namespaces it is the owner that may be missing.
std::string_view likeness_of(const Pod& pod, const FleetWatchOptions& options) {
  const StringMap& labels = pod.meta.labels;
  if (fleet::looks_like_driver(labels)) {
    return fleet::is_driver_pod(pod, options.drivers) ? std::string_view() : like_driver;
  }
  if (labels.get("app") == options.drivers.validator_app) {
    return fleet::is_validator_pod(pod, options.drivers) ? std::string_view() : like_validator;
  }
  bool is_outside = !options.drivers.covers(pod.meta.ns);
  return is_outside && fleet::looks_like_operator(labels) ? like_operator : std::string_view();
}

}  // namespace

std::vector<Lookalike> find_lookalikes(const FleetWatch& watch) {
  const FleetWatchOptions& options = watch.options();
  std::vector<Lookalike> found;
  std::set<std::pair<std::string, std::string_view>> namespaces;
  auto add = [&](const ResourceType& type, const auto& object) {
    std::string_view of = likeness_of(object, options);
    if (of.empty()) return;
    found.push_back({type.kind, object.meta.key(), std::string(of)});
    namespaces.emplace(object.meta.ns.str(), of);
  };
  watch.caches().daemon_sets().for_each([&](const auto& set) { add(resource::daemon_sets, *set); });
  watch.caches().deployments().for_each(
      [&](const auto& deployment) { add(resource::deployments, *deployment); });
  const auto owners = namespaces;
  watch.caches().pods().for_each([&](const auto& pod) {
    if (pod->is_finished()) return;
    std::string_view of = likeness_of(*pod, options);
    bool is_owned = pod->meta.controller() != nullptr;
    if (!of.empty() && !(is_owned && owners.contains({pod->meta.ns.str(), of})))
      add(resource::pods, *pod);
  });
  std::sort(found.begin(), found.end(), [](const Lookalike& a, const Lookalike& b) {
    return std::tie(a.kind, a.key.ns, a.key.name) < std::tie(b.kind, b.key.ns, b.key.name);
  });
  return found;
}

}  // namespace lockstep::view
