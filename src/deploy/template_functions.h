// The functions of templates, as Helm's Go templates have them (see template_render.h).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "data/json.h"

namespace lockstep::deploy {

// False are null, false, zero, and the empty text, list and map.
bool is_true(const Json& value);

// What an action prints. A list or a map has no text: toYaml makes one.
Result<std::string> template_text(const Json& value);

Result<Json> call_function(const std::string& name, const std::vector<Json>& arguments);

}  // namespace lockstep::deploy
