// Checks values by a JSON schema, draft 7, as Helm does with a chart's values.schema.json. Of the
// schema's words those are known that our chart uses; any other is an error, not passed over.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "data/json.h"

namespace lockstep::deploy {

// What is wrong, each with its place: "controller.replicas must be 0 or more, and is -1". Empty:
// nothing. An error is about the schema itself.
Result<std::vector<std::string>> check_by_schema(const Json& schema, const Json& value);

}  // namespace lockstep::deploy
