// The real server keeps built-in objects as Go structs, and field ownership shows it: some parts of
// a struct always exist, empty at worst, so that no client adds, removes or owns them.
#pragma once

#include <string_view>

#include "data/json.h"

namespace lockstep::apiserver {

// The meaning of a missing field of a kind ("apps/v1/Deployment", as in Schema::kind), by its path
// ("spec.template"): an empty object, null, or, with a null pointer, nothing at all.
const Json* value_when_missing(std::string_view kind, std::string_view path);

// Whether the field may hold the value although no client has set it.
bool is_zero_value(std::string_view kind, std::string_view path, const Json& value);

}  // namespace lockstep::apiserver
