// Server-side apply and the bookkeeping of field ownership (metadata.managedFields).
#pragma once

#include <string>
#include <vector>

#include "apiserver/schema/schema.h"
#include "apiserver/schema/status.h"
#include "base/time.h"
#include "data/json.h"

namespace lockstep::apiserver {

struct FieldManager {
  std::string name;         // "kubectl", "lockstep"
  std::string api_version;  // of the request's object
  std::string subresource;  // "status", or empty
};

// Merges `applied` (a partial object) into `live` (null pointer: it does not exist yet) for a
// manager. The result carries the new managedFields. A conflict with another manager, unless
// `force`, is a 409 with a cause per field, in Kubernetes' words.
Outcome<Json> server_side_apply(const Json* live, const Json& applied, const FieldManager& manager,
                                bool force, const Schema* schema, const ResourceType& type,
                                Time now);

// After a create, update or patch by a manager: `after` gets managedFields in which the fields that
// changed belong to it (operation Update). `before` is null on create.
void track_update(const Json* before, Json& after, const FieldManager& manager,
                  const Schema* schema, Time now);

}  // namespace lockstep::apiserver
