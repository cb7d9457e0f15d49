#include <set>

#include "apiserver/kinds/builtin_defaults.h"
#include "apiserver/kinds/builtin_rules.h"
#include "apiserver/kinds/kind.h"

namespace lockstep::apiserver {

namespace {

void check_claim_spec(const Json& spec, const std::string& place, Causes& causes) {
  const JsonArray& requests = array_at(object_at(spec, "devices"), "requests");
  std::set<std::string> names;
  for (size_t i = 0; i < requests.size(); ++i) {
    std::string here = fmt::format("{}.devices.requests[{}]", place, i);
    std::string_view name = text_at(requests[i], "name");
    if (name.empty()) {
      causes.push_back(cause_required(here + ".name"));
    } else {
      take_complaints(check_dns_label(name), name, here + ".name", causes);
      if (!names.insert(std::string(name)).second) {
        causes.push_back(cause_duplicate(here + ".name", Json(name)));
      }
    }
    const Json* exactly = find(requests[i], "exactly");
    const Json* first = find(requests[i], "firstAvailable");
    if (exactly == nullptr && first == nullptr) {
      causes.push_back(
          cause_required(here, "exactly one of `exactly` or `firstAvailable` is required"));
    } else if (exactly != nullptr && first != nullptr) {
      causes.push_back(cause_invalid(
          here, Json(),
          "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"));
    } else if (exactly != nullptr && text_at(*exactly, "deviceClassName").empty()) {
      causes.push_back(cause_required(here + ".exactly.deviceClassName"));
    }
  }
}

void check_claim(const Json& claim, const Json* before, Causes& causes) {
  const Json& spec = object_at(claim, "spec");
  if (before != nullptr && !json_equal(spec, object_at(*before, "spec"))) {
    causes.push_back(cause_invalid("spec", spec, immutable_message));
  }
  check_claim_spec(spec, "spec", causes);
}

void check_claim_template(const Json& object, const Json*, Causes& causes) {
  check_claim_spec(object_at(object_at(object, "spec"), "spec"), "spec.spec", causes);
}

void default_claim_spec(JsonObject* spec) {
  JsonObject* devices = spec == nullptr ? nullptr : object_in(*spec, "devices");
  if (devices == nullptr) return;
  auto default_request = [](JsonObject& request) {
    set_default(request, "allocationMode", "ExactCount");
    if (as_text(request.if_contains("allocationMode")) == "ExactCount")
      set_default(request, "count", 1);
  };
  for_each_object(*devices, "requests", [&](JsonObject& request) {
    if (JsonObject* exactly = object_in(request, "exactly")) default_request(*exactly);
    for_each_object(request, "firstAvailable", default_request);
  });
}

void default_claim(JsonObject& claim) { default_claim_spec(object_in(claim, "spec")); }

void default_claim_template(JsonObject& object) {
  if (JsonObject* spec = object_in(object, "spec")) default_claim_spec(object_in(*spec, "spec"));
}

}  // namespace

std::vector<Kind> device_kinds() {
  constexpr std::string_view group = "resource.k8s.io";
  return {
      {.group = group,
       .plural = "resourceclaims",
       .set_defaults = default_claim,
       .check = check_claim},
      {.group = group,
       .plural = "resourceclaimtemplates",
       .set_defaults = default_claim_template,
       .check = check_claim_template},
      {.group = group,
       .plural = "resourceslices",
       .counts_generations = true,
       .selectable = {"spec.nodeName", "spec.driver"}},
      {.group = group, .plural = "deviceclasses", .counts_generations = true},
  };
}

}  // namespace lockstep::apiserver
