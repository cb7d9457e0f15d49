#include "access.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace lockstep::deploy {

namespace {

std::vector<std::string> texts(const Json* list) {
  std::vector<std::string> out;
  if (list == nullptr) return out;
  for (const Json& item : list->get_array()) out.emplace_back(as_text(&item));
  return out;
}

// "pods/eviction" of group "" stays; "daemonsets" of "apps" is "daemonsets.apps".
std::string full_name(const std::string& group, const std::string& resource) {
  if (group.empty()) return resource;
  auto slash = std::min(resource.find('/'), resource.size());
  return resource.substr(0, slash) + "." + group + resource.substr(slash);
}

void add_rule(const Json& rule, const std::string& ns, std::set<Access>& grants) {
  for (const auto& [key, unused] : rule.as_object()) {
    if (key != "apiGroups" && key != "resources" && key != "resourceNames" && key != "verbs") {
      throw std::runtime_error(fmt::format("a rule says {}", std::string_view(key)));
    }
  }
  std::vector<std::string> names = texts(find(rule, "resourceNames"));
  if (names.empty()) names.emplace_back();
  for (const auto& group : texts(find(rule, "apiGroups"))) {
    for (const auto& resource : texts(find(rule, "resources"))) {
      for (const auto& verb : texts(find(rule, "verbs"))) {
        if (group == "*" || resource == "*" || verb == "*")
          throw std::runtime_error("a rule grants everything");
        for (const auto& name : names) {
          if (!grants.insert({verb, full_name(group, resource), ns, name}).second) {
            throw std::runtime_error("granted twice: " +
                                     describe(Access{verb, full_name(group, resource), ns, name}));
          }
        }
      }
    }
  }
}

bool binds(const Json& binding, const std::string& ns, const std::string& account) {
  const JsonArray& subjects = find(binding, "subjects")->get_array();
  return std::any_of(subjects.begin(), subjects.end(), [&](const Json& subject) {
    return text_at(subject, "kind") == "ServiceAccount" && text_at(subject, "name") == account &&
           text_at(subject, "namespace") == ns;
  });
}

std::string verb_of(const kube::Request& request) {
  switch (request.verb) {
    case kube::Verb::remove:
      return "delete";
    case kube::Verb::remove_collection:
      return "deletecollection";
    default:
      return std::string(to_string(request.verb));
  }
}

Access access_of(const kube::Request& request, std::string verb) {
  std::string resource = request.type.full_name();
  if (!request.subresource.empty()) resource += "/" + request.subresource;
  // The path of a namespace is inside itself.
  std::string ns = request.type == resource::namespaces ? request.name : request.ns;
  return {std::move(verb), std::move(resource), std::move(ns), request.name};
}

}  // namespace

std::string describe(const Access& access) {
  return fmt::format("{} {}{}{}", access.verb, access.resource,
                     access.ns.empty() ? "" : " in " + access.ns,
                     access.name.empty() ? "" : " called " + access.name);
}

std::set<Access> granted_by(const std::vector<Json>& manifests, const std::string& ns,
                            const std::string& account) {
  std::set<Access> grants;
  for (const Json& binding : manifests) {
    std::string_view kind = text_at(binding, "kind");
    if ((kind != "RoleBinding" && kind != "ClusterRoleBinding") || !binds(binding, ns, account))
      continue;
    std::string_view space = text_at(binding, "metadata", "namespace");
    std::string_view role_kind = text_at(binding, "roleRef", "kind");
    auto role = std::find_if(manifests.begin(), manifests.end(), [&](const Json& object) {
      return text_at(object, "kind") == role_kind &&
             text_at(object, "metadata", "name") == text_at(binding, "roleRef", "name") &&
             (role_kind == "ClusterRole" || text_at(object, "metadata", "namespace") == space);
    });
    if (role == manifests.end())
      throw std::runtime_error("a binding names a role that is not there");
    for (const Json& rule : find(*role, "rules")->get_array())
      add_rule(rule, std::string(space), grants);
  }
  return grants;
}

bool allows(const Access& grant, const Access& call) {
  // A create carries no name that an authorizer could see.
  bool named = grant.name.empty() || (grant.name == call.name && call.verb != "create");
  return grant.verb == call.verb && grant.resource == call.resource && named &&
         (grant.ns.empty() || grant.ns == call.ns);
}

Comparison compare(const std::set<Access>& grants, const std::set<Access>& calls) {
  Comparison result;
  result.superfluous = grants;
  for (const Access& call : calls) {
    bool allowed = false;
    for (const Access& grant : grants) {
      if (!allows(grant, call)) continue;
      allowed = true;
      result.superfluous.erase(grant);
    }
    if (!allowed) result.missing.insert(call);
  }
  return result;
}

void RecordingApi::call(kube::Request request, kube::ReplyCallback done) {
  calls_.insert(access_of(request, verb_of(request)));
  inner_.call(std::move(request), std::move(done));
}

std::unique_ptr<kube::Watch> RecordingApi::watch(kube::WatchRequest request,
                                                 kube::WatchHandler handler) {
  calls_.insert(access_of(request.as_request(), "watch"));
  return inner_.watch(std::move(request), std::move(handler));
}

}  // namespace lockstep::deploy
