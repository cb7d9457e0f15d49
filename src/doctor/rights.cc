#include "doctor/rights.h"

#include <fmt/format.h>

namespace lockstep::doctor {

std::string Right::text() const {
  return fmt::format("{} {}{}{}{}{}", verb, resource, group.empty() ? "" : "." + group,
                     subresource.empty() ? "" : "/" + subresource, name.empty() ? "" : " " + name,
                     ns.empty() ? "" : " in " + ns);
}

namespace {

std::vector<std::string> texts(const Json* list) {
  std::vector<std::string> found;
  if (list == nullptr || !list->is_array()) return found;
  for (const Json& item : list->as_array()) found.emplace_back(as_text(&item));
  return found;
}

void add_rule(const Json& rule, const std::string& ns, std::vector<Right>& rights) {
  std::vector<std::string> names = texts(find(rule, "resourceNames"));
  if (names.empty()) names.emplace_back();
  for (const std::string& group : texts(find(rule, "apiGroups"))) {
    for (const std::string& resource : texts(find(rule, "resources"))) {
      size_t slash = resource.find('/');
      std::string part = slash == std::string::npos ? "" : resource.substr(slash + 1);
      for (const std::string& verb : texts(find(rule, "verbs"))) {
        for (const std::string& name : names) {
          rights.push_back({verb, group, resource.substr(0, slash), part, ns, name});
        }
      }
    }
  }
}

}  // namespace

std::vector<Right> rights_in(const std::vector<Json>& manifests) {
  std::vector<Right> rights;
  for (const Json& object : manifests) {
    std::string_view kind = text_at(object, "kind");
    if (kind != "Role" && kind != "ClusterRole") continue;
    const Json* rules = find(object, "rules");
    if (rules == nullptr || !rules->is_array()) continue;
    for (const Json& rule : rules->as_array()) {
      add_rule(rule, std::string(text_at(object, "metadata", "namespace")), rights);
    }
  }
  return rights;
}

Json review_of(const Right& right, const std::string& user) {
  JsonObject attributes{{"verb", right.verb}, {"group", right.group}, {"resource", right.resource}};
  if (!right.subresource.empty()) attributes["subresource"] = right.subresource;
  if (!right.ns.empty()) attributes["namespace"] = right.ns;
  if (!right.name.empty()) attributes["name"] = right.name;
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
