// The scale subresource: a view of spec.replicas.
#pragma once

#include "apiserver/backend.h"

namespace lockstep::apiserver {

Outcome<Answer> handle_scale(Backend& backend, const ResourceInfo& info,
                             const kube::Request& request, const Caller& caller);

}  // namespace lockstep::apiserver
