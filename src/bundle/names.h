// Names of components and hooks.
#pragma once

#include <string_view>

#include "base/result.h"

namespace lockstep::bundle {

// A name that may become a directory, a release and a Kubernetes object: a DNS label.
Result<void> check_name(std::string_view name);

}  // namespace lockstep::bundle
