// Bodies in Kubernetes' protobuf: what kubectl sends for "create namespace", "create configmap",
// "auth can-i" and other commands with a typed client. Only read; answers are JSON, which these
// clients take.
#pragma once

#include <string_view>

#include "apiserver/schema/schema.h"
#include "apiserver/schema/status.h"
#include "data/json.h"

namespace lockstep::apiserver {

inline constexpr std::string_view protobuf_media_type = "application/vnd.kubernetes.protobuf";

// The object as JSON, with apiVersion and kind. 400 for broken bytes, 415 for a kind that has no
// protobuf form here (custom resources, CustomResourceDefinition).
Outcome<Json> read_protobuf(std::string_view body, const BuiltinSchemas& schemas);

}  // namespace lockstep::apiserver
