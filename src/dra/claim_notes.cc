#include "dra/claim_notes.h"

#include <algorithm>

namespace lockstep::dra {

namespace {

const Json* condition_in(const JsonArray* conditions, std::string_view type) {
  if (conditions == nullptr) return nullptr;
  auto found = std::find_if(conditions->begin(), conditions->end(), [&](const Json& condition) {
    return text_at(condition, "type") == type;
  });
  return found == conditions->end() ? nullptr : found;
}

JsonObject condition_of(std::string_view type, std::string_view driver,
                        const std::optional<ClaimFailure>& failure, Time now) {
  return {{"type", type},
          {"status", failure ? "False" : "True"},
          {"reason", reason_word(failure)},
          {"message", failure ? describe(*failure, driver) : ""},
          {"lastTransitionTime", format_rfc3339(now)}};
}

// Whether there is nothing to write: the condition is up to date, or all is well and always was.
bool is_said(const Json* there, const JsonObject& wanted) {
  const Json wish(wanted);
  if (there == nullptr) return text_at(wish, "status") == "True";
  return text_at(*there, "status") == text_at(wish, "status") &&
         text_at(*there, "reason") == text_at(wish, "reason") &&
         text_at(*there, "message") == text_at(wish, "message");
}

const Json* status_of_device(const Json& claim, const Json& result) {
  const JsonArray* devices = array_of(find(claim, "status", "devices"));
  if (devices == nullptr) return nullptr;
  auto found = std::find_if(devices->begin(), devices->end(), [&](const Json& device) {
    return text_at(device, "driver") == text_at(result, "driver") &&
           text_at(device, "pool") == text_at(result, "pool") &&
           text_at(device, "device") == text_at(result, "device") &&
           text_at(device, "shareID") == text_at(result, "shareID");
  });
  return found == devices->end() ? nullptr : found;
}

}  // namespace

std::string_view reason_word(const std::optional<ClaimFailure>& failure) {
  if (!failure) return "Prepared";
  switch (failure->kind) {
    case FailureClass::transient:
      return "NotYet";
    case FailureClass::device_failed:
      return "DeviceFailed";
    case FailureClass::bad_config:
      return "BadConfig";
  }
  return "";
}

std::optional<Json> claim_status_patch(const Json& claim, std::string_view driver,
                                       const std::optional<ClaimFailure>& failure, Time now) {
  const JsonArray* results = array_of(find(claim, "status", "allocation", "devices", "results"));
  if (results == nullptr) return std::nullopt;
  const JsonObject condition = condition_of(prepared_condition, driver, failure, now);
  JsonArray devices;
  bool is_said_everywhere = true;
  for (const Json& result : *results) {
    if (text_at(result, "driver") != driver) continue;
    const Json* status = status_of_device(claim, result);
    const Json* there =
        status == nullptr ? nullptr
                          : condition_in(array_of(find(*status, "conditions")), prepared_condition);
    is_said_everywhere = is_said_everywhere && is_said(there, condition);
    JsonObject device{{"driver", driver},
                      {"pool", text_at(result, "pool")},
                      {"device", text_at(result, "device")},
                      {"conditions", JsonArray{condition}}};
    if (!text_at(result, "shareID").empty()) device["shareID"] = text_at(result, "shareID");
    devices.push_back(std::move(device));
  }
  if (is_said_everywhere || devices.empty()) return std::nullopt;
  return Json(
      JsonObject{{"apiVersion", "resource.k8s.io/v1"},
                 {"kind", "ResourceClaim"},
                 {"metadata", JsonObject{{"name", text_at(claim, "metadata", "name")},
                                         {"namespace", text_at(claim, "metadata", "namespace")},
                                         {"uid", text_at(claim, "metadata", "uid")}}},
                 {"status", JsonObject{{"devices", std::move(devices)}}}});
}

}  // namespace lockstep::dra
