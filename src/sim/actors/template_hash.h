// The name of a template's content: what controllers put into controller-revision-hash and
// pod-template-hash. Equal templates have equal hashes, whatever the order of their fields.
#pragma once

#include <string>

#include "data/json.h"

namespace lockstep::sim {

// Ten characters that are fine in names and label values.
std::string template_hash(const Json& pod_template);

}  // namespace lockstep::sim
