#include <algorithm>

#include "apiserver/present/openapi.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

constexpr std::string_view object_meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
constexpr std::string_view list_meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

JsonArray group_version_kind(std::string_view group, std::string_view version,
                             std::string_view kind) {
  JsonArray list;
  list.push_back(JsonObject{{"group", group}, {"kind", kind}, {"version", version}});
  return list;
}

std::string patch_strategy(const ListMerge& patch) {
  std::string strategy = patch.kind == ListMerge::Kind::atomic ? "" : "merge";
  if (patch.retain_keys) strategy += strategy.empty() ? "retainKeys" : ",retainKeys";
  return strategy;
}

void write_merging(const Schema& schema, JsonObject& into) {
  if (schema.type == Schema::Type::array) {
    if (schema.list_kind == Schema::ListKind::map) {
      into["x-kubernetes-list-map-keys"] = texts_to_json(schema.list_keys);
      into["x-kubernetes-list-type"] = "map";
    } else {
      into["x-kubernetes-list-type"] = schema.list_kind == Schema::ListKind::set ? "set" : "atomic";
    }
  } else if (schema.atomic) {
    into["x-kubernetes-map-type"] = "atomic";
  }
  if (!schema.patch.key.empty()) into["x-kubernetes-patch-merge-key"] = schema.patch.key;
  if (std::string strategy = patch_strategy(schema.patch); !strategy.empty()) {
    into["x-kubernetes-patch-strategy"] = strategy;
  }
}

std::string_view openapi_type(Schema::Type type) {
  switch (type) {
    case Schema::Type::array:
      return "array";
    case Schema::Type::string:
      return "string";
    case Schema::Type::integer:
      return "integer";
    case Schema::Type::number:
      return "number";
    case Schema::Type::boolean:
      return "boolean";
    default:
      return "object";
  }
}

// "nvidia.com" is "com.nvidia" in the name of a schema.
std::string reversed_domain(std::string_view group) {
  std::vector<std::string> parts;
  for (std::string_view part : split(group, '.')) parts.emplace_back(part);
  std::reverse(parts.begin(), parts.end());
  return join(parts, ".");
}

}  // namespace

std::string schema_name(const ResourceInfo& info) {
  if (!info.custom) return info.schema == nullptr ? std::string() : info.schema->name;
  return fmt::format("{}.{}.{}", reversed_domain(info.type.group), info.type.version,
                     info.type.kind);
}

JsonObject SchemaWriter::refer(std::string_view name) {
  waiting_.emplace_back(name);
  const char* prefix = version_ == OpenApi::v3 ? "#/components/schemas/" : "#/definitions/";
  return {{"$ref", prefix + std::string(name)}};
}

JsonObject SchemaWriter::refer(const ResourceInfo& info) {
  std::string name = schema_name(info);
  if (info.custom && !written_.contains(name)) {
    written_[name] = nullptr;  // it may refer to itself
    written_[name] = custom_definition(info);
  }
  return refer(name);
}

JsonObject SchemaWriter::refer_list(const ResourceInfo& info) {
  std::string item = schema_name(info);
  std::string name = item.substr(0, item.rfind('.') + 1) + info.list_kind;
  if (!written_.contains(name)) written_[name] = list_definition(info);
  return refer(name);
}

JsonObject SchemaWriter::definitions() {
  while (!waiting_.empty()) {
    std::string name = std::move(waiting_.back());
    waiting_.pop_back();
    if (written_.contains(name)) continue;
    if (const Schema* schema = schemas_.find(name)) written_[name] = definition(*schema);
  }
  std::vector<std::string> names;
  for (const auto& entry : written_) names.emplace_back(entry.key());
  std::sort(names.begin(), names.end());
  JsonObject sorted;
  sorted.reserve(names.size());
  for (const std::string& name : names) sorted[name] = std::move(written_[name]);
  return sorted;
}

void SchemaWriter::write_scalar(const Schema& schema, JsonObject& into) const {
  bool is_quantity = schema.format == "quantity";
  if (is_quantity || schema.type == Schema::Type::int_or_string) {
    if (!is_quantity) into["format"] = "int-or-string";
    if (version_ == OpenApi::v2) {
      into["type"] = "string";
    } else if (is_quantity) {
      into["oneOf"] = JsonArray{JsonObject{{"type", "string"}}, JsonObject{{"type", "number"}}};
    } else {
      into["oneOf"] = JsonArray{JsonObject{{"type", "integer"}}, JsonObject{{"type", "string"}}};
    }
    return;
  }
  if (schema.type == Schema::Type::any) return;
  into["type"] = openapi_type(schema.type);
  if (!schema.format.empty()) into["format"] = schema.format;
}

JsonObject SchemaWriter::definition(const Schema& schema) {
  JsonObject object;
  if (!schema.description.empty()) object["description"] = schema.description;
  write_scalar(schema, object);
  if (schema.type != Schema::Type::object || schema.preserve_unknown) return object;
  JsonObject properties;
  properties.reserve(schema.fields.size());
  for (const auto& [name, field] : schema.fields) {
    properties[name] = property(*field, schemas_.describe_field(schema, name));
  }
  if (!properties.empty()) object["properties"] = std::move(properties);
  if (!schema.required.empty()) object["required"] = texts_to_json(schema.required);
  if (schema.atomic) object["x-kubernetes-map-type"] = "atomic";
  if (!schema.kind.empty()) {
    std::vector<std::string_view> parts = split(schema.kind, '/');
    object["x-kubernetes-group-version-kind"] = group_version_kind(parts[0], parts[1], parts[2]);
  }
  return object;
}

// v3 allows nothing beside a $ref, hence the allOf of one.
JsonObject SchemaWriter::reference(std::string_view name, std::string_view description) {
  JsonObject object = refer(name);
  if (version_ == OpenApi::v3) {
    JsonArray parts;
    parts.push_back(std::move(object));
    object = JsonObject{};
    object["allOf"] = std::move(parts);
  }
  if (!description.empty()) object["description"] = description;
  return object;
}

JsonObject SchemaWriter::property(const Schema& schema, std::string_view description) {
  JsonObject object;
  if (!schema.name.empty()) {
    object = reference(schema.name, description);
  } else {
    if (!description.empty()) object["description"] = description;
    write_scalar(schema, object);
    if (schema.items != nullptr) {
      object[schema.type == Schema::Type::map ? "additionalProperties" : "items"] =
          property(*schema.items, {});
    }
  }
  if (schema.default_value && version_ == OpenApi::v3) object["default"] = *schema.default_value;
  // Of a named type only what this field adds to it.
  if (schema.name.empty() || schema.patch.retain_keys) write_merging(schema, object);
  return object;
}

JsonObject SchemaWriter::custom_definition(const ResourceInfo& info) {
  Json schema =
      info.open_api == nullptr
          ? Json(JsonObject{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}})
          : *info.open_api;
  JsonObject& object = schema.get_object();
  JsonObject& properties = ensure_object(object, "properties");
  for (const char* name : {"apiVersion", "kind"}) {
    if (!properties.contains(name)) properties[name] = JsonObject{{"type", "string"}};
  }
  properties["metadata"] = reference(object_meta, {});
  object["x-kubernetes-group-version-kind"] =
      group_version_kind(info.type.group, info.type.version, info.type.kind);
  return std::move(object);
}

JsonObject SchemaWriter::list_definition(const ResourceInfo& info) {
  JsonObject properties;
  properties["apiVersion"] = JsonObject{{"type", "string"}};
  properties["items"] = JsonObject{{"type", "array"}, {"items", refer(info)}};
  properties["kind"] = JsonObject{{"type", "string"}};
  properties["metadata"] = reference(list_meta, {});
  JsonObject object;
  object["description"] = fmt::format("A list of {} objects.", info.type.kind);
  object["properties"] = std::move(properties);
  object["required"] = JsonArray{"items"};
  object["type"] = "object";
  object["x-kubernetes-group-version-kind"] =
      group_version_kind(info.type.group, info.type.version, info.list_kind);
  return object;
}

}  // namespace lockstep::apiserver
