// OpenAPI v2 in the protobuf of gnostic (openapiv2/OpenAPIv2.proto): kubectl asks for nothing else
// when it validates a List, or a kind that the server does not know.
#pragma once

#include <string>
#include <string_view>

#include "data/json.h"

namespace lockstep::apiserver {

// As the real server names it in its answers.
inline constexpr std::string_view openapi_protobuf_type =
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

// Clients request it under that name, or under an older one that is not a valid media type.
bool is_openapi_protobuf(std::string_view accept);

// The document without its paths, which no client reads from this form.
std::string openapi_protobuf(const Json& document);

}  // namespace lockstep::apiserver
