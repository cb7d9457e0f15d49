// The scale subresource: a view of spec.replicas.
#pragma once

#include "apiserver/verbs/backend.h"

namespace lockstep::apiserver {

// How many replicas an object of a type with that subresource asks for.
int64_t wanted_replicas(const ResourceInfo& info, const Json& object);

Outcome<Answer> handle_scale(Backend& backend, const ResourceInfo& info,
                             const kube::Request& request, const Caller& caller);

}  // namespace lockstep::apiserver
