// The checks between a request's body and the store: headers and fields, the metadata that only the
// server sets, what a subresource may change, validation.
#pragma once

#include <string>
#include <vector>

#include "apiserver/verbs/backend.h"

namespace lockstep::apiserver {

// apiVersion, kind, name and namespace against the URL; fills in what is missing.
Outcome<void> check_header(const ResourceInfo& info, Json& object, const kube::Request& request);
// fieldValidation: Strict refuses unknown fields, Warn (the default) warns, Ignore drops them. All
// drop them.
Outcome<void> check_fields(const ResourceInfo& info, Json& object, const kube::Request& request,
                           std::vector<std::string>& warnings, const TouchedFields& touched = {});
// resourceVersion and uid in the object are preconditions.
Outcome<void> check_preconditions(const ResourceInfo& info, const Json& live, const Json& object,
                                  const std::string& name);

// Metadata and status of a new object.
void prepare_create(Backend& backend, const ResourceInfo& info, const ObjectKey& key, Json& object);
// What a client cannot change stays: metadata of the server, status on a plain update, all but
// status on a status update.
void prepare_update(const ResourceInfo& info, const std::string& subresource, const Json& live,
                    Json& object, const TouchedFields& touched = {});
// Counts changes of what is wanted (everything but metadata and status).
void bump_generation(const ResourceInfo& info, const Json& live, Json& object,
                     const TouchedFields& touched = {});

// Defaults, then validation (422).
Outcome<void> admit(Backend& backend, const ResourceInfo& info, Json& object, const Json* before,
                    const TouchedFields& touched = {});

// Equal but for resourceVersion and managedFields' times.
bool same_content(const Json& a, const Json& b, const TouchedFields& touched = {});

// True when a terminating object has nothing left to wait for.
bool may_vanish(const std::string& storage, const Json& object);

// Marks a stored CRD as accepted and serves its resources.
StoredPtr establish_crd(Backend& backend, const StoredPtr& crd);

}  // namespace lockstep::apiserver
