#include "view/unknown_plugins.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/strings.h"

namespace lockstep::view {

namespace {

struct NaturalOrder {
  bool operator()(const std::string& a, const std::string& b) const { return natural_less(a, b); }
};

struct Publisher {
  bool known = false;
  std::set<std::string> perhaps;
};

Publisher publisher_of(const FleetWatch& watch, const ResourceSlice& slice) {
  Publisher found;
  watch.caches().pods().for_each("node", slice.node_name, [&](const fleet::PodPtr& pod) {
    auto set = watch.daemon_set_of(*pod);
    if (!set) return;
    auto client = fleet::find_driver_client(*set, watch.options().clients);
    const StringMap& labels = set->pod_template.labels;
    bool publishes = client && (client->dra_driver.empty() || client->dra_driver == slice.driver);
    bool is_alike = fleet::is_nvidia_plugin(set->meta.name, labels) || fleet::is_own_plugin(labels);
    found.known = found.known || publishes;
    if (!client && is_alike) found.perhaps.insert(set->meta.key().text());
  });
  return found;
}

}  // namespace

std::vector<UnknownPlugin> find_unknown_plugins(const FleetWatch& watch) {
  std::map<std::string, std::set<std::string, NaturalOrder>> nodes;
  std::map<std::string, std::set<std::string>> perhaps;
  const auto& drivers = watch.options().gpu_pods.dra_drivers;
  watch.caches().slices().for_each([&](const auto& slice) {
    bool is_of_gpus = std::find(drivers.begin(), drivers.end(), slice->driver) != drivers.end();
    if (slice->node_name.empty() || !is_of_gpus) return;
    Publisher publisher = publisher_of(watch, *slice);
    if (publisher.known) return;
    nodes[slice->driver.str()].insert(slice->node_name.str());
    perhaps[slice->driver.str()].merge(publisher.perhaps);
  });
  std::vector<UnknownPlugin> unknown;
  for (const auto& [driver, names] : nodes) {
    const auto& alike = perhaps[driver];
    unknown.push_back({driver, {names.begin(), names.end()}, {alike.begin(), alike.end()}});
  }
  return unknown;
}

}  // namespace lockstep::view
