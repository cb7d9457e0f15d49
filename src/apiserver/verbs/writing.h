// create, update and the four patches: one path from what was sent to what is stored.
#pragma once

#include "apiserver/verbs/backend.h"

namespace lockstep::apiserver {

Outcome<Answer> create_object(Backend& backend, const ResourceInfo& info,
                              const kube::Request& request, const Caller& caller);
Outcome<Answer> update_object(Backend& backend, const ResourceInfo& info,
                              const kube::Request& request, const Caller& caller);
Outcome<Answer> patch_object(Backend& backend, const ResourceInfo& info,
                             const kube::Request& request, const Caller& caller);
// POST pods/NAME/binding.
Outcome<Answer> bind_pod(Backend& backend, const ResourceInfo& info, const kube::Request& request);

// Stores what `change` makes of the object: for the server's own writes (eviction, housekeeping).
// Nothing is stored when nothing changed. Removes the object when its last finalizer went.
StoredPtr rewrite(Backend& backend, const std::string& storage, const StoredPtr& live, Json object);

}  // namespace lockstep::apiserver
