// Reviews, which are posted and answered, never stored: access reviews and self-subject reviews.
// Every authenticated user may do everything: there are no rules to evaluate.
#pragma once

#include "apiserver/verbs/backend.h"

namespace lockstep::apiserver {

bool is_review(const ResourceInfo& info);
Outcome<Answer> answer_review(const ResourceInfo& info, const kube::Request& request,
                              const Caller& caller);

}  // namespace lockstep::apiserver
