#include "doctor/rights.h"

#include <fmt/format.h>

namespace lockstep::doctor {

std::string Right::text() const {
  return fmt::format("{} {}{}{}{}", verb, resource, group.empty() ? "" : "." + group,
                     subresource.empty() ? "" : "/" + subresource, ns.empty() ? "" : " in " + ns);
}

std::vector<Right> rights_of_controller(const std::string& ns) {
  struct Row {
    const char* group;
    const char* resource;
    const char* subresource;
    std::vector<const char*> verbs;
    bool own_namespace = false;
  };
  const std::vector<Row> rows = {
      {"", "nodes", "", {"get", "list", "watch", "patch"}},
      {"", "pods", "", {"list", "watch", "delete"}},
      {"", "pods", "eviction", {"create"}},
      {"", "pods", "status", {"patch"}},
      {"", "events", "", {"list", "watch", "create", "patch"}},
      {"apps", "daemonsets", "", {"get", "list", "watch"}},
      {"apps", "controllerrevisions", "", {"list", "watch"}},
      {"resource.k8s.io", "resourceclaims", "", {"get", "list", "watch"}},
      {"resource.k8s.io", "resourceslices", "", {"list", "watch"}},
      {"policy", "poddisruptionbudgets", "", {"list", "watch"}},
      {"nvidia.com", "clusterpolicies", "", {"list", "watch"}},
      {"nvidia.com", "nvidiadrivers", "", {"list", "watch"}},
      {"coordination.k8s.io", "leases", "", {"create", "get", "update"}, true},
      {"", "configmaps", "", {"create", "get", "update"}, true},
  };
  std::vector<Right> rights;
  for (const Row& row : rows) {
    for (const char* verb : row.verbs) {
      rights.push_back(
          {verb, row.group, row.resource, row.subresource, row.own_namespace ? ns : ""});
    }
  }
  return rights;
}

Json review_of(const Right& right, const std::string& user) {
  JsonObject attributes{{"verb", right.verb}, {"group", right.group}, {"resource", right.resource}};
  if (!right.subresource.empty()) attributes["subresource"] = right.subresource;
  if (!right.ns.empty()) attributes["namespace"] = right.ns;
  // What a role grants by name is asked by that name.
  if (right.resource == "leases" && right.verb != "create")
    attributes["name"] = "lockstep-controller";
  if (right.resource == "configmaps" && right.verb != "create")
    attributes["name"] = "lockstep-slots";
  JsonObject spec{{"resourceAttributes", std::move(attributes)}};
  if (!user.empty()) spec["user"] = user;
  return JsonObject{{"apiVersion", "authorization.k8s.io/v1"},
                    {"kind", user.empty() ? "SelfSubjectAccessReview" : "SubjectAccessReview"},
                    {"spec", std::move(spec)}};
}

std::optional<bool> verdict_of(const Json& review) {
  const Json* allowed = find(review, "status", "allowed");
  if (allowed == nullptr || !allowed->is_bool()) return std::nullopt;
  return allowed->as_bool();
}

}  // namespace lockstep::doctor
