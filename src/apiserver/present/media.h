// Content negotiation: what a client sends and what it wants back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apiserver/present/table.h"
#include "apiserver/schema/status.h"
#include "data/json.h"
#include "kube/api.h"

namespace lockstep::apiserver {

enum class Shape { object, table, metadata };  // as=Table, as=PartialObjectMetadata(List)

struct Wanted {
  Shape shape = Shape::object;
  bool yaml = false;
  bool pretty = false;
  IncludeObject include = IncludeObject::metadata;
};

// From Accept and the query; 406 when the client takes nothing that we have.
Outcome<Wanted> negotiate(std::string_view accept, const kube::Request* request);

// A body in Kubernetes' protobuf, which read_body does not take.
bool is_protobuf(std::string_view content_type);

// The patch type of a PATCH; 415 for another content type.
Outcome<kube::PatchType> patch_type_of(std::string_view content_type);

// A body as JSON or YAML by its content type; 415 and 400.
Outcome<Document> read_body(std::string_view body, std::string_view content_type, bool is_patch);

// The metadata of an object alone (PartialObjectMetadata).
Json partial_metadata(const Json& object);

}  // namespace lockstep::apiserver
