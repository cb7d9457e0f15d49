#include "apiserver/schema/crd.h"

#include <algorithm>
#include <tuple>

#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

std::vector<Column> columns_of(const Json& version) {
  std::vector<Column> columns;
  const Json* given = find(version, "additionalPrinterColumns");
  if (given != nullptr && given->is_array()) {
    for (const Json& entry : given->get_array()) {
      Column column;
      column.name = text_at(entry, "name");
      column.type = text_at(entry, "type");
      column.format = text_at(entry, "format");
      column.description = text_at(entry, "description");
      column.priority = static_cast<int>(as_integer(find(entry, "priority")));
      column.json_path = text_at(entry, "jsonPath");
      columns.push_back(std::move(column));
    }
  }
  // What the real server shows when a CRD says nothing.
  if (columns.empty()) columns.push_back({"Age", "date", "", "", 0, ".metadata.creationTimestamp"});
  return columns;
}

std::string deprecation_warning_of(const Json& version, const ResourceType& type) {
  if (!as_bool(find(version, "deprecated"))) return {};
  if (const Json* text = find(version, "deprecationWarning")) return std::string(as_text(text));
  return fmt::format("{} {} is deprecated", type.api_version(), type.kind);
}

void read_subresources(ResourceInfo& info, const Json& version) {
  if (find(version, "subresources", "scale") != nullptr) {
    info.subresources.emplace_back("scale");
    info.scale.spec_replicas = text_at(version, "subresources", "scale", "specReplicasPath");
    info.scale.status_replicas = text_at(version, "subresources", "scale", "statusReplicasPath");
    info.scale.label_selector = text_at(version, "subresources", "scale", "labelSelectorPath");
  }
  if (find(version, "subresources", "status") != nullptr) info.subresources.emplace_back("status");
}

void read_schema(ResourceInfo& info, const Json& version, const BuiltinSchemas& schemas) {
  const Json* open_api = find(version, "schema", "openAPIV3Schema");
  if (open_api == nullptr) return;
  info.open_api = std::make_shared<const Json>(*open_api);
  info.schemas = std::make_shared<SchemaSet>();
  auto schema =
      schema_from_crd(*open_api, *info.schemas,
                      schemas.find("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"), "schema");
  if (schema) info.schema = *schema;
}

std::unique_ptr<ResourceInfo> resource_from_version(const Json& crd, const Json& version,
                                                    const BuiltinSchemas& schemas) {
  const Json& names = *find(crd, "spec", "names");
  auto info = std::make_unique<ResourceInfo>();
  info->type.group = text_at(crd, "spec", "group");
  info->type.version = text_at(version, "name");
  info->type.kind = text_at(names, "kind");
  info->type.plural = text_at(names, "plural");
  info->type.namespaced = text_at(crd, "spec", "scope") == "Namespaced";
  info->singular = text_at(names, "singular");
  if (info->singular.empty()) info->singular = lower(info->type.kind);
  info->list_kind = text_at(names, "listKind");
  if (info->list_kind.empty()) info->list_kind = info->type.kind + "List";
  info->short_names = texts_at(names, "shortNames");
  info->categories = texts_at(names, "categories");
  info->verbs = {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
  info->storage = info->type.full_name();
  info->custom = true;
  info->columns = columns_of(version);
  info->deprecation_warning = deprecation_warning_of(version, info->type);
  if (const Json* fields = find(version, "selectableFields"); fields && fields->is_array()) {
    for (const Json& field : fields->get_array()) {
      info->selectable_fields.emplace_back(text_at(field, "jsonPath"));
    }
  }
  read_subresources(*info, version);
  read_schema(*info, version, schemas);
  return info;
}

struct VersionRank {
  int stability = 0;  // 3 stable, 2 beta, 1 alpha, 0 something else
  int64_t major = 0;
  int64_t minor = 0;
  auto operator<=>(const VersionRank&) const = default;
};

size_t digits_at(std::string_view text, size_t start) {
  size_t end = std::min(text.find_first_not_of("0123456789", start), text.size());
  return end - start;
}

// "v2beta1"
VersionRank rank_of(std::string_view version) {
  if (!version.starts_with('v')) return {};
  size_t major_digits = digits_at(version, 1);
  std::optional<int64_t> major = parse_integer(version.substr(1, major_digits));
  if (!major || *major <= 0) return {};
  std::string_view rest = version.substr(1 + major_digits);
  if (rest.empty()) return {3, *major, 0};
  int stability = rest.starts_with("beta") ? 2 : rest.starts_with("alpha") ? 1 : 0;
  if (stability == 0) return {};
  std::optional<int64_t> minor = parse_integer(rest.substr(stability == 2 ? 4 : 5));
  if (!minor || *minor <= 0) return {};
  return {stability, *major, *minor};
}

}  // namespace

bool version_before(std::string_view a, std::string_view b) {
  VersionRank rank_a = rank_of(a);
  VersionRank rank_b = rank_of(b);
  if (rank_a != rank_b) return rank_a > rank_b;
  return a < b;
}

std::vector<std::unique_ptr<ResourceInfo>> resources_from_crd(const Json& crd,
                                                              const BuiltinSchemas& schemas) {
  std::vector<std::unique_ptr<ResourceInfo>> result;
  const Json* versions = find(crd, "spec", "versions");
  const Json* names = find(crd, "spec", "names");
  if (versions == nullptr || !versions->is_array() || names == nullptr) return result;
  for (const Json& version : versions->get_array()) {
    if (!as_bool(find(version, "served"))) continue;
    result.push_back(resource_from_version(crd, version, schemas));
  }
  return result;
}

}  // namespace lockstep::apiserver
