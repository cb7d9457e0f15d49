// OpenAPI v2 in the protobuf of gnostic (openapiv2/OpenAPIv2.proto): kubectl asks for nothing else
// when it validates a List, or a kind that the server does not know.
#pragma once

#include <string>
#include <string_view>

#include "data/json.h"

namespace lockstep::apiserver {

bool is_openapi_protobuf(std::string_view accept);

// The document without its paths, which no client reads from this form.
std::string openapi_protobuf(const Json& document);

}  // namespace lockstep::apiserver
