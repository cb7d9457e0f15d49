// Events have two faces, core/v1 and events.k8s.io/v1, over the same stored object.
#pragma once

#include "data/json.h"
#include "objects/resource_type.h"

namespace lockstep::apiserver {

// The event in the words of the given version ("" or "events.k8s.io").
Json event_as(const Json& event, const ResourceType& type);

}  // namespace lockstep::apiserver
