// openAPIV3Schema into a Schema.
#include <algorithm>

#include "apiserver/schema/crd_structural.h"
#include "apiserver/schema/schema.h"

namespace lockstep::apiserver {

namespace {

std::optional<double> number_at(const Json& json, std::string_view name) {
  const Json* value = find(json, name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return as_number(*value);
}

std::optional<int64_t> count_at(const Json& json, std::string_view name) {
  const Json* value = find(json, name);
  if (value == nullptr || !value->is_int64()) return std::nullopt;
  return std::max<int64_t>(0, value->get_int64());
}

class Builder {
 public:
  Builder(SchemaSet& set, const Schema* object_meta) : set_(set), object_meta_(object_meta) {
    text_.type = Schema::Type::string;
  }

  Schema* build(const Json& json) {
    Schema* schema = &set_.add();
    schema->type = type_of(json);
    schema->format = text_at(json, "format");
    schema->description = text_at(json, "description");
    schema->nullable = is_set(json, "nullable");
    schema->preserve_unknown = is_set(json, "x-kubernetes-preserve-unknown-fields");
    schema->atomic = text_at(json, "x-kubernetes-map-type") == "atomic";
    schema->required = texts_at(json, "required");
    if (const Json* value = find(json, "default")) schema->default_value = *value;
    read_bounds(*schema, json);
    read_children(*schema, json);
    read_list(*schema, json);
    read_combinations(*schema, json);
    if (is_set(json, "x-kubernetes-embedded-resource")) {
      schema->embedded_resource = true;
      add_metadata(*schema);
    }
    return schema;
  }

  // apiVersion, kind and metadata are always known, and are what Kubernetes says they are; a CRD
  // may only narrow metadata.name and metadata.generateName.
  void add_metadata(Schema& schema) {
    const Schema* given = schema.field("metadata");
    const Schema* text = &set_.add();
    *const_cast<Schema*>(text) = text_;
    set_field(schema, "apiVersion", text);
    set_field(schema, "kind", text);
    if (object_meta_ == nullptr) return;
    const Schema* meta = object_meta_;
    if (given != nullptr && !given->fields.empty()) {
      Schema& narrowed = set_.add();
      narrowed = *object_meta_;
      for (const auto& [name, field] : given->fields) set_field(narrowed, name, field);
      meta = &narrowed;
    }
    set_field(schema, "metadata", meta);
  }

 private:
  static Schema::Type type_of(const Json& json) {
    if (is_set(json, "x-kubernetes-int-or-string")) return Schema::Type::int_or_string;
    std::string_view name = text_at(json, "type");
    if (name == "string") return Schema::Type::string;
    if (name == "integer") return Schema::Type::integer;
    if (name == "number") return Schema::Type::number;
    if (name == "boolean") return Schema::Type::boolean;
    if (name == "array") return Schema::Type::array;
    if (name != "object") return Schema::Type::any;
    const Json* additional = find(json, "additionalProperties");
    bool has_properties = find(json, "properties") != nullptr;
    bool is_map = additional != nullptr && !has_properties &&
                  (additional->is_object() || as_bool(additional));
    return is_map ? Schema::Type::map : Schema::Type::object;
  }

  static void read_bounds(Schema& schema, const Json& json) {
    schema.minimum = number_at(json, "minimum");
    schema.maximum = number_at(json, "maximum");
    schema.exclusive_minimum = is_set(json, "exclusiveMinimum");
    schema.exclusive_maximum = is_set(json, "exclusiveMaximum");
    schema.multiple_of = number_at(json, "multipleOf");
    schema.min_length = count_at(json, "minLength");
    schema.max_length = count_at(json, "maxLength");
    schema.min_items = count_at(json, "minItems");
    schema.max_items = count_at(json, "maxItems");
    schema.min_properties = count_at(json, "minProperties");
    schema.max_properties = count_at(json, "maxProperties");
    if (const Json* allowed = find(json, "enum"); allowed != nullptr && allowed->is_array()) {
      schema.allowed.assign(allowed->get_array().begin(), allowed->get_array().end());
    }
    schema.pattern = text_at(json, "pattern");
    if (schema.pattern.empty()) return;
    if (auto compiled = Pattern::compile(schema.pattern)) schema.compiled_pattern = *compiled;
  }

  void read_children(Schema& schema, const Json& json) {
    if (const Json* properties = find(json, "properties"); properties && properties->is_object()) {
      for (const auto& entry : properties->get_object()) {
        schema.fields.emplace_back(entry.key(), build(entry.value()));
      }
      std::sort(schema.fields.begin(), schema.fields.end());
    }
    const Json* items =
        find(json, schema.type == Schema::Type::map ? "additionalProperties" : "items");
    if (items != nullptr && items->is_object()) schema.items = build(*items);
    // properties and additionalProperties: true.
    if (schema.type == Schema::Type::object && is_set(json, "additionalProperties")) {
      schema.preserve_unknown = true;
    }
  }

  static void read_list(Schema& schema, const Json& json) {
    std::string_view kind = text_at(json, "x-kubernetes-list-type");
    if (kind == "set") schema.list_kind = Schema::ListKind::set;
    if (kind != "map") return;
    schema.list_kind = Schema::ListKind::map;
    schema.list_keys = texts_at(json, "x-kubernetes-list-map-keys");
  }

  void read_combinations(Schema& schema, const Json& json) {
    auto read = [&](std::string_view name, std::vector<const Schema*>& into) {
      const Json* parts = find(json, name);
      if (parts == nullptr || !parts->is_array()) return;
      for (const Json& part : parts->get_array()) into.push_back(build(part));
    };
    read("allOf", schema.all_of);
    read("anyOf", schema.any_of);
    read("oneOf", schema.one_of);
    if (const Json* inner = find(json, "not")) schema.not_schema = build(*inner);
  }

  static void set_field(Schema& schema, std::string_view name, const Schema* field) {
    auto at = std::lower_bound(
        schema.fields.begin(), schema.fields.end(), name,
        [](const auto& entry, std::string_view wanted) { return entry.first < wanted; });
    if (at != schema.fields.end() && at->first == name) {
      at->second = field;
    } else {
      schema.fields.emplace(at, std::string(name), field);
    }
  }

  SchemaSet& set_;
  const Schema* object_meta_;
  Schema text_;
};

// Defaults must fit the schema that contains them. Descends as the structure does.
void check_defaults(const Schema& schema, const std::string& place,
                    std::vector<StatusCause>& causes) {
  if (schema.typed) return;
  if (schema.default_value) {
    std::string here = place + ".default";
    Json filled = *schema.default_value;
    apply_defaults(schema, filled);
    std::vector<StatusCause> found = validate(schema, filled, here);
    std::move(found.begin(), found.end(), std::back_inserter(causes));
    if (!unknown_fields(schema, *schema.default_value).empty()) {
      causes.push_back(cause_invalid(here, *schema.default_value, "must not have unknown fields"));
    }
  }
  for (const auto& [name, field] : schema.fields) {
    check_defaults(*field, fmt::format("{}.properties[{}]", place, name), causes);
  }
  if (schema.items != nullptr) {
    check_defaults(*schema.items,
                   place + (schema.type == Schema::Type::map ? ".additionalProperties" : ".items"),
                   causes);
  }
}

}  // namespace

tl::expected<const Schema*, std::vector<StatusCause>> schema_from_crd(const Json& open_api,
                                                                      SchemaSet& set,
                                                                      const Schema* object_meta,
                                                                      std::string_view place) {
  std::vector<StatusCause> causes = check_structural(open_api, std::string(place));
  if (!causes.empty()) return tl::make_unexpected(std::move(causes));
  Builder builder(set, object_meta);
  Schema* schema = builder.build(open_api);
  check_defaults(*schema, std::string(place), causes);
  if (!causes.empty()) return tl::make_unexpected(std::move(causes));
  builder.add_metadata(*schema);
  return schema;
}

}  // namespace lockstep::apiserver
