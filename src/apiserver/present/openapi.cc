#include "apiserver/present/openapi.h"

#include "apiserver/present/discovery.h"

namespace lockstep::apiserver {

namespace {

JsonObject document_info() {
  return {{"title", "Kubernetes"}, {"version", text_at(server_version(), "gitVersion")}};
}

// FNV-1a. The address of a document changes with what it says, so that clients may keep it.
uint64_t hash(std::string_view text, uint64_t seed) {
  for (unsigned char c : text) seed = (seed ^ c) * 1099511628211ULL;
  return seed;
}

uint64_t hash_of(const ResourceTable& table, std::string_view group, std::string_view version) {
  uint64_t result = hash(text_at(server_version(), "gitVersion"), 14695981039346656037ULL);
  for (const ResourceInfo* info : table.of(group, version)) {
    result = hash(info->type.plural, result);
    for (const std::string& name : info->subresources) result = hash(name, result);
    if (info->open_api != nullptr) result = hash(print_json(*info->open_api), result);
  }
  return result;
}

void add_path(JsonObject& paths, const ResourceTable& table, const std::string& name,
              std::string_view group, std::string_view version) {
  paths[name] = JsonObject{{"serverRelativeURL", fmt::format("/openapi/v3/{}?hash={:016X}", name,
                                                             hash_of(table, group, version))}};
}

}  // namespace

Json openapi_v2(const ResourceTable& table, const BuiltinSchemas& schemas) {
  SchemaWriter writer(OpenApi::v2, schemas);
  JsonObject paths = paths_of(table.all(), OpenApi::v2, writer);
  return JsonObject{{"swagger", "2.0"},
                    {"info", document_info()},
                    {"paths", std::move(paths)},
                    {"definitions", writer.definitions()}};
}

Json openapi_v3_index(const ResourceTable& table) {
  JsonObject paths;
  add_path(paths, table, "api/v1", "", "v1");
  for (const GroupVersions& group : table.groups()) {
    for (const std::string& version : group.versions) {
      add_path(paths, table, fmt::format("apis/{}/{}", group.group, version), group.group, version);
    }
  }
  return JsonObject{{"paths", std::move(paths)}};
}

std::optional<Json> openapi_v3(const ResourceTable& table, const BuiltinSchemas& schemas,
                               std::string_view group, std::string_view version) {
  std::vector<const ResourceInfo*> resources = table.of(group, version);
  if (resources.empty()) return std::nullopt;
  SchemaWriter writer(OpenApi::v3, schemas);
  JsonObject paths = paths_of(resources, OpenApi::v3, writer);
  JsonObject components{{"schemas", writer.definitions()}};
  return JsonObject{{"openapi", "3.0.0"},
                    {"info", document_info()},
                    {"paths", std::move(paths)},
                    {"components", std::move(components)}};
}

}  // namespace lockstep::apiserver
