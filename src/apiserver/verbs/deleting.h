// delete and deletecollection: preconditions, grace periods, finalizers and propagation.
#pragma once

#include <optional>

#include "apiserver/verbs/backend.h"

namespace lockstep::apiserver {

struct DeleteOptions {
  std::optional<int64_t> grace_seconds;
  std::string uid;               // precondition
  std::string resource_version;  // precondition
  std::string propagation;       // "", Background, Foreground, Orphan
  bool dry_run = false;
};

// From the body (a DeleteOptions object, or nothing) and the query.
Outcome<DeleteOptions> read_delete_options(const kube::Request& request);

// Deletes, or begins to: the stored object if it still exists after that (grace period,
// finalizers), null when it is gone.
Outcome<StoredPtr> delete_stored(Backend& backend, const ResourceInfo& info, const StoredPtr& live,
                                 const DeleteOptions& options);

Outcome<Answer> delete_object(Backend& backend, const ResourceInfo& info,
                              const kube::Request& request);
Outcome<Answer> delete_collection(Backend& backend, const ResourceInfo& info,
                                  const kube::Request& request);

}  // namespace lockstep::apiserver
