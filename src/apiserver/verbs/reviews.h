// Questions that are posted and answered, never stored: may I, who am I. Everybody whom the server
// lets in may do everything: there are no rules to ask.
#pragma once

#include "apiserver/verbs/backend.h"

namespace lockstep::apiserver {

bool is_review(const ResourceInfo& info);
Outcome<Answer> answer_review(const ResourceInfo& info, const kube::Request& request,
                              const Caller& caller);

}  // namespace lockstep::apiserver
