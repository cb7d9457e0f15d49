// Defaults of the built-in kinds.
#pragma once

#include "apiserver/schema/resources.h"
#include "data/json.h"

namespace lockstep::apiserver {

// The defaults that a typed server fills in and that clients rely on (a pod's restartPolicy and
// terminationGracePeriodSeconds, a DaemonSet's updateStrategy, …).
void default_builtin(const ResourceInfo& info, Json& object);

// Of a pod or of a template's pod.
void default_pod_spec(JsonObject& spec);
// What only real pods get: requests from limits, enableServiceLinks, the first status.
void default_pod(JsonObject& pod);

// Sets a key that is absent or null.
void set_default(JsonObject& object, std::string_view key, const Json& value);
// The object at the key, or null pointer.
JsonObject* object_in(JsonObject& parent, std::string_view key);
// Calls `change` with every object of the list at the key.
template <typename Change>
void for_each_object(JsonObject& parent, std::string_view key, Change change) {
  Json* list = parent.if_contains(key);
  if (list == nullptr || !list->is_array()) return;
  for (Json& item : list->get_array()) {
    if (JsonObject* object = item.if_object()) change(*object);
  }
}

}  // namespace lockstep::apiserver
