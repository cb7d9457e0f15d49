// Which openAPIV3Schema of a CRD is structural, as the real server demands.
#pragma once

#include <string>
#include <vector>

#include "apiserver/schema/status.h"
#include "data/json.h"

namespace lockstep::apiserver {

// The field is there and true.
inline bool is_set(const Json& json, std::string_view name) { return as_bool(find(json, name)); }

// Why the schema at `place` is refused; empty when it is structural.
std::vector<StatusCause> check_structural(const Json& schema, const std::string& place);

}  // namespace lockstep::apiserver
