// The reference of our own API, made from the CustomResourceDefinition that the cluster gets.
#pragma once

#include <string>

#include "data/json.h"

namespace lockstep::documentation {

// A page in Markdown. `definition` is a CustomResourceDefinition with one version.
std::string api_reference(const Json& definition);

}  // namespace lockstep::documentation
