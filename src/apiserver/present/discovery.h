// What the server says about itself: discovery (old and aggregated), version, OpenAPI v2 and v3.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apiserver/schema/resources.h"
#include "data/json.h"

namespace lockstep::apiserver {

Json api_versions();                          // GET /api
Json api_groups(const ResourceTable& table);  // GET /apis
std::optional<Json> api_group(const ResourceTable& table,
                              std::string_view group);  // GET /apis/apps
std::optional<Json> api_resources(const ResourceTable& table, std::string_view group,
                                  std::string_view version);  // GET /api/v1, /apis/apps/v1
// APIGroupDiscoveryList (apidiscovery.k8s.io v2 or v2beta1), of /api or of /apis.
Json aggregated_discovery(const ResourceTable& table, bool core, std::string_view version);
Json server_version();  // GET /version: claims 1.34, what the built-in table describes

Json openapi_v2(const ResourceTable& table, const BuiltinSchemas& schemas);
// GET /openapi/v3: paths with their hashed addresses.
Json openapi_v3_index(const ResourceTable& table);
// GET /openapi/v3/apis/apps/v1.
std::optional<Json> openapi_v3(const ResourceTable& table, const BuiltinSchemas& schemas,
                               std::string_view group, std::string_view version);

}  // namespace lockstep::apiserver
