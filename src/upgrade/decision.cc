#include "upgrade/decision.h"

namespace lockstep::upgrade {

namespace {

JsonObject map_patch(
    const std::vector<std::pair<std::string, std::optional<std::string>>>& entries) {
  JsonObject map;
  for (const auto& [key, value] : entries) {
    if (value) {
      map[key] = *value;
    } else {
      map[key] = nullptr;
    }
  }
  return map;
}

}  // namespace

Json NodePatch::body() const {
  JsonObject metadata;
  if (!resource_version.empty()) metadata["resourceVersion"] = resource_version;
  if (!labels.empty()) metadata["labels"] = map_patch(labels);
  if (!annotations.empty()) metadata["annotations"] = map_patch(annotations);
  JsonObject body{{"metadata", std::move(metadata)}};
  if (unschedulable) {
    // As kubectl uncordon leaves it: no field rather than false.
    body["spec"] = JsonObject{{"unschedulable", *unschedulable ? Json(true) : Json(nullptr)}};
  }
  return body;
}

std::string_view to_string(Removal removal) {
  switch (removal) {
    case Removal::evict:
      return "evict";
    case Removal::remove:
      return "delete";
    case Removal::force_remove:
      return "force-delete";
  }
  return "";
}

Decision hold(Reason reason, std::optional<Duration> look_again) {
  Decision decision;
  decision.reason = std::move(reason);
  decision.look_again = look_again;
  return decision;
}

}  // namespace lockstep::upgrade
