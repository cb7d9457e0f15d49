// When certificates end.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace lockstep::kube {

// The end of the one in this PEM that ends first.
Result<Time> end_of_certificates(std::string_view pem);

}  // namespace lockstep::kube
