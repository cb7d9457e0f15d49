#include "deploy/manifest_kinds.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::deploy {

namespace {

size_t rank_of(const Json& object) {
  const auto& kinds = installed_kinds();
  auto at = std::find_if(kinds.begin(), kinds.end(), [&](const ResourceType& type) {
    return type.kind == text_at(object, "kind") &&
           type.api_version() == text_at(object, "apiVersion");
  });
  return static_cast<size_t>(at - kinds.begin());
}

}  // namespace

const std::vector<ResourceType>& installed_kinds() {
  static const std::string rbac = "rbac.authorization.k8s.io";
  static const std::string admission = "admissionregistration.k8s.io";
  static const std::vector<ResourceType> kinds = {
      resource::namespaces,
      {"networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", true},
      resource::pod_disruption_budgets,
      {"", "v1", "ServiceAccount", "serviceaccounts", true},
      resource::custom_resource_definitions,
      {rbac, "v1", "ClusterRole", "clusterroles", false},
      {rbac, "v1", "ClusterRoleBinding", "clusterrolebindings", false},
      {rbac, "v1", "Role", "roles", true},
      {rbac, "v1", "RoleBinding", "rolebindings", true},
      {"", "v1", "Service", "services", true},
      resource::daemon_sets,
      resource::deployments,
      {"resource.k8s.io", "v1", "DeviceClass", "deviceclasses", false},
      {"monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules", true},
      {"monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors", true},
      {admission, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", false},
      {admission, "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings",
       false},
  };
  return kinds;
}

Result<ResourceType> kind_of(const Json& object) {
  size_t rank = rank_of(object);
  if (rank < installed_kinds().size()) return installed_kinds()[rank];
  return failf(ErrorKind::unsupported, "objects of kind {} {} cannot be installed",
               text_at(object, "apiVersion"), text_at(object, "kind"));
}

size_t apply_rank(const Json& object) { return rank_of(object); }

ObjectKey key_of(const Json& object) {
  return {std::string(text_at(object, "metadata", "namespace")),
          std::string(text_at(object, "metadata", "name"))};
}

std::string describe(const Json& object) {
  return fmt::format("{} {}", text_at(object, "kind"), key_of(object).text());
}

}  // namespace lockstep::deploy
