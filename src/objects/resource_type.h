// Which kind of object: enough to build a URL, to name it in a message and to keep it apart.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "base/hash_index.h"

namespace lockstep {

struct ResourceType {
  std::string group;  // "" for core
  std::string version;
  std::string kind;
  std::string plural;
  bool namespaced = true;

  // "v1", "apps/v1".
  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  // "pods", "daemonsets.apps".
  std::string full_name() const { return group.empty() ? plural : plural + "." + group; }

  auto operator<=>(const ResourceType&) const = default;
};

// One object: "default/web-1" or "gpu-7".
struct ObjectKey {
  std::string ns;
  std::string name;

  std::string text() const { return ns.empty() ? name : ns + "/" + name; }
  // Its inverse.
  static ObjectKey parse(std::string_view text);
  auto operator<=>(const ObjectKey&) const = default;
};

inline size_t hash_of(const ObjectKey& key) { return hash_of(key.ns, key.name); }

namespace resource {
extern const ResourceType nodes;
extern const ResourceType pods;
extern const ResourceType namespaces;
extern const ResourceType config_maps;
extern const ResourceType events;  // core/v1
extern const ResourceType daemon_sets;
extern const ResourceType controller_revisions;
extern const ResourceType deployments;
extern const ResourceType replica_sets;
extern const ResourceType jobs;
extern const ResourceType pod_disruption_budgets;
extern const ResourceType leases;
extern const ResourceType resource_claims;
extern const ResourceType resource_slices;
extern const ResourceType custom_resource_definitions;
}  // namespace resource

}  // namespace lockstep
