#include "objects/resource_type.h"

namespace lockstep {

ObjectKey ObjectKey::parse(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {"", std::string(text)};
  return {std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

}  // namespace lockstep

namespace lockstep::resource {

const ResourceType nodes{"", "v1", "Node", "nodes", false};
const ResourceType pods{"", "v1", "Pod", "pods", true};
const ResourceType namespaces{"", "v1", "Namespace", "namespaces", false};
const ResourceType config_maps{"", "v1", "ConfigMap", "configmaps", true};
const ResourceType events{"", "v1", "Event", "events", true};
const ResourceType daemon_sets{"apps", "v1", "DaemonSet", "daemonsets", true};
const ResourceType controller_revisions{"apps", "v1", "ControllerRevision", "controllerrevisions",
                                        true};
const ResourceType deployments{"apps", "v1", "Deployment", "deployments", true};
const ResourceType replica_sets{"apps", "v1", "ReplicaSet", "replicasets", true};
const ResourceType jobs{"batch", "v1", "Job", "jobs", true};
const ResourceType pod_disruption_budgets{"policy", "v1", "PodDisruptionBudget",
                                          "poddisruptionbudgets", true};
const ResourceType leases{"coordination.k8s.io", "v1", "Lease", "leases", true};
const ResourceType resource_claims{"resource.k8s.io", "v1", "ResourceClaim", "resourceclaims",
                                   true};
const ResourceType resource_slices{"resource.k8s.io", "v1", "ResourceSlice", "resourceslices",
                                   false};
const ResourceType custom_resource_definitions{
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", false};

}  // namespace lockstep::resource
