// The formats of strings that OpenAPI schemas name.
#pragma once

#include <string_view>

namespace lockstep::apiserver {

// Whether the text has the format. Formats that Kubernetes does not check are true of everything.
bool has_format(std::string_view text, std::string_view format);

// Kubernetes' grammar of quantities: "100m", "1.5Gi", "2e3".
bool is_quantity(std::string_view text);

}  // namespace lockstep::apiserver
