// The two halves of an OpenAPI document: schemas and paths. (The documents: discovery.h.)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/schema/resources.h"
#include "data/json.h"

namespace lockstep::apiserver {

enum class OpenApi { v2, v3 };

// Writes schemas as JSON and remembers which named ones were referred to.
class SchemaWriter {
 public:
  SchemaWriter(OpenApi version, const BuiltinSchemas& schemas)
      : version_(version), schemas_(schemas) {}

  // {"$ref": …}: the object that a resource holds, and its list.
  JsonObject refer(const ResourceInfo& info);
  JsonObject refer_list(const ResourceInfo& info);
  JsonObject refer(std::string_view name);

  // The definitions of all that was referred to, with all that these refer to.
  JsonObject definitions();

 private:
  JsonObject definition(const Schema& schema);
  JsonObject custom_definition(const ResourceInfo& info);
  JsonObject list_definition(const ResourceInfo& info);
  JsonObject property(const Schema& schema, std::string_view description);
  JsonObject reference(std::string_view name, std::string_view description);
  void write_scalar(const Schema& schema, JsonObject& into) const;

  OpenApi version_;
  const BuiltinSchemas& schemas_;
  std::vector<std::string> waiting_;
  JsonObject written_;
};

// "io.k8s.api.core.v1.Pod", "com.nvidia.v1.ClusterPolicy".
std::string schema_name(const ResourceInfo& info);

// The paths of a group and version. kubectl looks in them for the kind behind a resource (explain),
// for query parameters (dryRun, fieldValidation) and for the patches that a kind takes (apply).
JsonObject paths_of(const std::vector<const ResourceInfo*>& resources, OpenApi version,
                    SchemaWriter& writer);

}  // namespace lockstep::apiserver
