// PodDisruptionBudgets: what they allow now, and the eviction that asks them.
#pragma once

#include <string>
#include <vector>

#include "apiserver/verbs/backend.h"

namespace lockstep::apiserver {

// The status that the disruption controller would write for a budget, from the pods and their
// controllers as they are.
Json budget_status(const Backend& backend, const Json& budget);

// Brings one budget's status up to date.
void refresh_budget(Backend& backend, const ObjectKey& budget);

// Budgets of the namespace whose selector takes in a pod with these labels.
std::vector<StoredPtr> budgets_for(const Backend& backend, const std::string& ns, const Json& pod);

// POST pods/NAME/eviction: 429 when a budget does not allow it, in the real server's words.
Outcome<Answer> evict_pod(Backend& backend, const ResourceInfo& info, const kube::Request& request);

}  // namespace lockstep::apiserver
