#include "apiserver/present/openapi_protobuf.h"

#include <cstdint>

namespace lockstep::apiserver {

namespace {

void write_varint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

// A field of bytes: a string, or a message.
void write_field(std::string& out, uint64_t number, std::string_view bytes) {
  write_varint(out, number << 3 | 2);
  write_varint(out, bytes.size());
  out += bytes;
}

void write_text(std::string& out, uint64_t number, const Json& object, std::string_view key) {
  const std::string_view text = text_at(object, key);
  if (!text.empty()) write_field(out, number, text);
}

// Any: a value as YAML text, which JSON is.
std::string any_of(const Json& value) {
  std::string any;
  write_field(any, 2, print_json(value));
  return any;
}

std::string schema_of(const Json& schema);

// Definitions and Properties: named schemas.
std::string named_schemas(const Json& schemas) {
  std::string message;
  if (!schemas.is_object()) return message;
  for (const auto& [name, value] : schemas.get_object()) {
    std::string named;
    write_field(named, 1, std::string_view(name.data(), name.size()));
    write_field(named, 2, schema_of(value));
    write_field(message, 1, named);
  }
  return message;
}

std::string schema_of(const Json& schema) {
  std::string message;
  if (!schema.is_object()) return message;
  write_text(message, 1, schema, "$ref");
  write_text(message, 2, schema, "format");
  write_text(message, 4, schema, "description");
  if (const Json* value = find(schema, "default")) write_field(message, 5, any_of(*value));
  if (const Json* names = find(schema, "required"); names != nullptr && names->is_array()) {
    for (const Json& name : names->get_array()) write_field(message, 19, as_text(&name));
  }
  if (const Json* values = find(schema, "additionalProperties")) {
    std::string item;
    if (values->is_bool()) {
      write_varint(item, 2 << 3);
      write_varint(item, as_bool(values) ? 1 : 0);
    } else {
      write_field(item, 1, schema_of(*values));
    }
    write_field(message, 21, item);
  }
  if (const std::string_view type = text_at(schema, "type"); !type.empty()) {
    std::string item;
    write_field(item, 1, type);
    write_field(message, 22, item);
  }
  if (const Json* items = find(schema, "items")) {
    std::string item;
    write_field(item, 1, schema_of(*items));
    write_field(message, 23, item);
  }
  if (const Json* properties = find(schema, "properties")) {
    write_field(message, 25, named_schemas(*properties));
  }
  for (const auto& [key, value] : schema.get_object()) {
    const std::string_view name(key.data(), key.size());
    if (!name.starts_with("x-")) continue;
    std::string extension;
    write_field(extension, 1, name);
    write_field(extension, 2, any_of(value));
    write_field(message, 31, extension);
  }
  return message;
}

}  // namespace

bool is_openapi_protobuf(std::string_view accept) {
  return accept.starts_with("application/com.github.proto-openapi.spec.v2") &&
         accept.ends_with("+protobuf");
}

std::string openapi_protobuf(const Json& document) {
  std::string message;
  write_text(message, 1, document, "swagger");
  if (const Json* info = find(document, "info")) {
    std::string described;
    write_text(described, 1, *info, "title");
    write_text(described, 2, *info, "version");
    write_field(message, 2, described);
  }
  write_field(message, 8, "");
  if (const Json* definitions = find(document, "definitions")) {
    write_field(message, 9, named_schemas(*definitions));
  }
  return message;
}

}  // namespace lockstep::apiserver
