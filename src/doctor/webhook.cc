#include "doctor/webhook.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::doctor {

namespace {

bool lists(const Json* array, std::initializer_list<std::string_view> wanted) {
  if (array == nullptr || !array->is_array()) return false;
  const JsonArray& items = array->as_array();
  return std::any_of(items.begin(), items.end(), [&](const Json& item) {
    return std::find(wanted.begin(), wanted.end(), as_text(&item)) != wanted.end();
  });
}

void note(std::vector<std::string>& asked_about, std::string what) {
  if (std::find(asked_about.begin(), asked_about.end(), what) == asked_about.end()) {
    asked_about.push_back(std::move(what));
  }
}

void read_rule(const Json& rule, std::vector<std::string>& asked_about) {
  const Json* operations = find(rule, "operations");
  const Json* resources = find(rule, "resources");
  // Pods and nodes are of the core group.
  if (!lists(find(rule, "apiGroups"), {"", "*"})) return;
  if (lists(operations, {"CREATE", "*"}) &&
      lists(resources, {"pods/eviction", "pods/*", "*/eviction", "*/*"})) {
    note(asked_about, "evictions");
  }
  if (lists(operations, {"DELETE", "*"}) && lists(resources, {"pods", "*", "*/*"})) {
    note(asked_about, "deletions of pods");
  }
  if (lists(operations, {"UPDATE", "*"}) && lists(resources, {"nodes", "*", "*/*"})) {
    note(asked_about, "changes of nodes");
  }
}

bool is_set(const Json* value) {
  if (value == nullptr) return false;
  if (value->is_object()) return !value->as_object().empty();
  return value->is_array() && !value->as_array().empty();
}

}  // namespace

std::vector<Webhook> read_webhooks(const Json& configuration, bool mutating) {
  std::vector<Webhook> found;
  const Json* list = find(configuration, "webhooks");
  if (list == nullptr || !list->is_array()) return found;
  for (const Json& each : list->as_array()) {
    Webhook webhook;
    webhook.configuration =
        fmt::format("{}webhookconfiguration/{}", mutating ? "mutating" : "validating",
                    text_at(configuration, "metadata", "name"));
    webhook.name = text_at(each, "name");
    webhook.index = found.size();
    webhook.fails_closed = text_at(each, "failurePolicy") != "Ignore";
    webhook.service = {std::string(text_at(each, "clientConfig", "service", "namespace")),
                       std::string(text_at(each, "clientConfig", "service", "name"))};
    webhook.ca_bundle = text_at(each, "clientConfig", "caBundle");
    webhook.is_limited = is_set(find(each, "namespaceSelector")) ||
                         is_set(find(each, "objectSelector")) ||
                         is_set(find(each, "matchConditions"));
    if (const Json* rules = find(each, "rules"); rules != nullptr && rules->is_array()) {
      for (const Json& rule : rules->as_array()) read_rule(rule, webhook.asked_about);
    }
    found.push_back(std::move(webhook));
  }
  return found;
}

std::vector<ObjectKey> ready_services(const std::vector<Document>& endpoint_slices) {
  std::vector<ObjectKey> ready;
  for (const Document& slice : endpoint_slices) {
    ObjectKey service{
        std::string(text_at(*slice, "metadata", "namespace")),
        std::string(text_at(*slice, "metadata", "labels", "kubernetes.io/service-name"))};
    const Json* endpoints = find(*slice, "endpoints");
    if (service.name.empty() || endpoints == nullptr || !endpoints->is_array()) continue;
    const JsonArray& list = endpoints->as_array();
    // What says nothing is to be taken for ready.
    bool any = std::any_of(list.begin(), list.end(), [](const Json& endpoint) {
      return as_bool(find(endpoint, "conditions", "ready"), true);
    });
    if (any) ready.push_back(std::move(service));
  }
  return ready;
}

}  // namespace lockstep::doctor
