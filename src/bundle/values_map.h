// The values of every enabled component of a recipe, by component.
#pragma once

#include <map>
#include <string>

#include "data/json.h"

namespace lockstep::bundle {

using ValuesMap = std::map<std::string, JsonObject, std::less<>>;

}  // namespace lockstep::bundle
