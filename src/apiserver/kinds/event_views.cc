#include "apiserver/kinds/event_views.h"

#include <array>
#include <string_view>
#include <utility>

namespace lockstep::apiserver {

namespace {

// core/v1 name, events.k8s.io/v1 name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> renamed = {{
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
}};

}  // namespace

Json event_as(const Json& event, const ResourceType& type) {
  bool to_core = type.group.empty();
  JsonObject result;
  for (const auto& field : event.as_object()) {
    std::string_view name(field.key().data(), field.key().size());
    for (const auto& [core, newer] : renamed) {
      if (name == (to_core ? newer : core)) name = to_core ? core : newer;
    }
    result[name] = field.value();
  }
  result["apiVersion"] = type.api_version();
  result["kind"] = type.kind;
  return result;
}

}  // namespace lockstep::apiserver
