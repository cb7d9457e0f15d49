// Access rules: role bindings, admission webhooks and policies.
#include <algorithm>

#include <fmt/format.h>

#include "apiserver/present/table_printers.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

constexpr std::string_view rbac = "rbac.authorization.k8s.io";
constexpr std::string_view admission = "admissionregistration.k8s.io";

std::string subjects_of(const Json& binding, std::string_view kind) {
  std::vector<std::string> names;
  for (const Json& subject : elements(find(binding, "subjects"))) {
    if (text_at(subject, "kind") != kind) continue;
    const std::string_view name = text_at(subject, "name");
    names.push_back(kind == "ServiceAccount"
                        ? fmt::format("{}/{}", text_at(subject, "namespace"), name)
                        : std::string(name));
  }
  return join(names, ", ");
}

void role_binding_cells(const Json& binding, Time now, JsonArray& cells) {
  cells.push_back(name_cell(binding));
  cells.push_back(text_cell(fmt::format("{}/{}", text_at(binding, "roleRef", "kind"),
                                        text_at(binding, "roleRef", "name"))));
  cells.push_back(age_cell(binding, now));
  for (const char* kind : {"User", "Group", "ServiceAccount"}) {
    cells.push_back(text_cell(subjects_of(binding, kind)));
  }
}

void webhook_cells(const Json& object, Time now, JsonArray& cells) {
  cells.push_back(name_cell(object));
  cells.push_back(count_of(find(object, "webhooks")));
  cells.push_back(age_cell(object, now));
}

std::string parameter_kind(const Json& policy) {
  const Json* kind = find(policy, "spec", "paramKind");
  if (kind == nullptr || kind->is_null()) return "<unset>";
  return fmt::format("{}/{}", text_at(*kind, "apiVersion"), text_at(*kind, "kind"));
}

void policy_cells(const Json& policy, std::string_view rules, Time now, JsonArray& cells) {
  cells.push_back(name_cell(policy));
  cells.push_back(count_of(find(policy, "spec", rules)));
  cells.push_back(text_cell(parameter_kind(policy)));
  cells.push_back(age_cell(policy, now));
}

void validating_policy_cells(const Json& policy, Time now, JsonArray& cells) {
  policy_cells(policy, "validations", now, cells);
}

void mutating_policy_cells(const Json& policy, Time now, JsonArray& cells) {
  policy_cells(policy, "mutations", now, cells);
}

// A selector as Go prints the structure.
std::string selector_dump(const Json& selector) {
  std::string labels, expressions;
  if (const Json* match = find(selector, "matchLabels"); match != nullptr && match->is_object()) {
    std::vector<std::string> parts;
    for (const auto& [key, value] : match->get_object()) {
      parts.push_back(fmt::format("{}: {},", std::string_view(key), as_text(&value)));
    }
    std::sort(parts.begin(), parts.end());
    labels = join(parts, "");
  }
  for (const Json& expression : elements(find(selector, "matchExpressions"))) {
    expressions += fmt::format("LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
                               text_at(expression, "key"), text_at(expression, "operator"),
                               joined_texts(find(expression, "values"), "", " "));
  }
  return fmt::format(
      "&LabelSelector{{MatchLabels:map[string]string{{{}}},"
      "MatchExpressions:[]LabelSelectorRequirement{{{}}},}}",
      labels, expressions);
}

std::string parameter_reference(const Json& binding) {
  const Json* reference = find(binding, "spec", "paramRef");
  if (reference == nullptr || reference->is_null()) return "<unset>";
  const std::string_view name = text_at(*reference, "name");
  const std::string_view ns = text_at(*reference, "namespace");
  if (!name.empty()) return fmt::format("{}/{}", ns.empty() ? "*" : ns, name);
  const Json* selector = find(*reference, "selector");
  return selector == nullptr || selector->is_null() ? "<unset>" : selector_dump(*selector);
}

void policy_binding_cells(const Json& binding, Time now, JsonArray& cells) {
  cells.push_back(name_cell(binding));
  cells.push_back(text_cell(text_at(binding, "spec", "policyName")));
  cells.push_back(text_cell(parameter_reference(binding)));
  cells.push_back(age_cell(binding, now));
}

std::vector<Column> binding_columns() {
  return name_and_age({text_column("Role", "The role that is given.")},
                      {text_column("Users", "Users who get it.", 1),
                       text_column("Groups", "Groups that get it.", 1),
                       text_column("ServiceAccounts", "Service accounts that get it.", 1)});
}

std::vector<Column> webhook_columns() {
  return name_and_age({integer_column("Webhooks", "How many webhooks are registered.")});
}

std::vector<Column> policy_columns(std::string rules, std::string description) {
  return name_and_age({integer_column(std::move(rules), std::move(description)),
                       text_column("ParamKind", "The kind of its parameters.")});
}

std::vector<Column> policy_binding_columns() {
  return name_and_age({text_column("PolicyName", "The policy that is put in force."),
                       text_column("ParamRef", "Where its parameters are.")});
}

}  // namespace

std::vector<Printer> policy_printers() {
  return {
      {rbac, "RoleBinding", binding_columns(), role_binding_cells},
      {rbac, "ClusterRoleBinding", binding_columns(), role_binding_cells},
      {admission, "MutatingWebhookConfiguration", webhook_columns(), webhook_cells},
      {admission, "ValidatingWebhookConfiguration", webhook_columns(), webhook_cells},
      {admission, "ValidatingAdmissionPolicy",
       policy_columns("Validations", "How many rules it checks."), validating_policy_cells},
      {admission, "MutatingAdmissionPolicy",
       policy_columns("Mutations", "How many changes it makes."), mutating_policy_cells},
      {admission, "ValidatingAdmissionPolicyBinding", policy_binding_columns(),
       policy_binding_cells},
      {admission, "MutatingAdmissionPolicyBinding", policy_binding_columns(), policy_binding_cells},
  };
}

}  // namespace lockstep::apiserver
