#include "apiserver/present/protobuf.h"

#include <algorithm>
#include <cstring>

#include "base/strings.h"
#include "base/time.h"

namespace lockstep::apiserver {

namespace {

constexpr std::string_view magic("k8s\0", 4);
constexpr int deepest = 64;

enum class Wire { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// One field of a message.
struct Field {
  int number = 0;
  Wire wire = Wire::varint;
  uint64_t value = 0;      // of varint and fixed
  std::string_view bytes;  // of bytes
};

class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}

  bool broken() const { return broken_; }

  std::optional<Field> next() {
    if (rest_.empty() || broken_) return std::nullopt;
    uint64_t tag = varint();
    Field field;
    field.number = static_cast<int>(tag >> 3);
    field.wire = static_cast<Wire>(tag & 7);
    switch (field.wire) {
      case Wire::varint:
        field.value = varint();
        break;
      case Wire::fixed64:
        field.value = fixed(8);
        break;
      case Wire::fixed32:
        field.value = fixed(4);
        break;
      case Wire::bytes:
        field.bytes = take(varint());
        break;
      default:
        broken_ = true;
    }
    if (broken_ || field.number <= 0) {
      broken_ = true;
      return std::nullopt;
    }
    return field;
  }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    broken_ = true;
    return 0;
  }

  bool empty() const { return rest_.empty(); }

 private:
  uint64_t fixed(size_t size) {
    std::string_view bytes = take(size);
    uint64_t value = 0;
    for (size_t i = 0; i < bytes.size(); ++i) {
      value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    return value;
  }

  std::string_view take(uint64_t size) {
    if (size > rest_.size()) {
      broken_ = true;
      return {};
    }
    std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  std::string_view rest_;
  bool broken_ = false;
};

bool is_zero(const Json& value) {
  switch (value.kind()) {
    case JsonKind::null:
      return true;
    case JsonKind::bool_:
      return !value.get_bool();
    case JsonKind::int64:
      return value.get_int64() == 0;
    case JsonKind::string:
      return value.get_string().empty();
    case JsonKind::object:
      return value.get_object().empty();
    default:
      return false;
  }
}

class Decoder {
 public:
  bool broken = false;

  JsonObject object(const Schema& schema, std::string_view bytes, int depth) {
    JsonObject result;
    fields(schema, 0, bytes, depth, result);
    return result;
  }

 private:
  void fields(const Schema& schema, int outer, std::string_view bytes, int depth,
              JsonObject& into) {
    if (depth > deepest) {
      broken = true;
      return;
    }
    MessageReader reader(bytes);
    while (std::optional<Field> field = reader.next()) {
      const Schema::WireField* known = find_field(schema, outer, field->number);
      if (known != nullptr) {
        set(schema, *known, *field, depth, into);
      } else if (outer == 0 && field->wire == Wire::bytes) {
        // A message that JSON has inline, or a field of a newer version.
        fields(schema, field->number, field->bytes, depth + 1, into);
      }
    }
    // An unknown field was tried as a message; it is no error if it is not a message.
    if (outer == 0) broken |= reader.broken();
  }

  static const Schema::WireField* find_field(const Schema& schema, int outer, int number) {
    auto found =
        std::lower_bound(schema.wire.begin(), schema.wire.end(), std::pair(outer, number),
                         [](const Schema::WireField& field, const std::pair<int, int>& wanted) {
                           return std::pair(field.outer, field.number) < wanted;
                         });
    if (found == schema.wire.end() || found->outer != outer || found->number != number)
      return nullptr;
    return &*found;
  }

  void set(const Schema& schema, const Schema::WireField& known, const Field& field, int depth,
           JsonObject& into) {
    const auto& [name, type] = schema.fields[known.field];
    if (type->type == Schema::Type::array) {
      Json& list = into[name];
      if (!list.is_array()) list = JsonArray();
      append(*type->items, field, depth, list.get_array());
    } else if (type->type == Schema::Type::map) {
      add_entry(*type->items, field.bytes, depth, ensure_object(into, name));
    } else {
      Json decoded = value(*type, field, depth);
      // Go writes what was never set, unless it is a pointer.
      if (known.is_pointer ? !decoded.is_null() : !is_zero(decoded))
        into[name] = std::move(decoded);
    }
  }

  void append(const Schema& type, const Field& field, int depth, JsonArray& list) {
    bool is_number = type.type == Schema::Type::integer || type.type == Schema::Type::boolean;
    if (!is_number || field.wire != Wire::bytes) {
      list.push_back(value(type, field, depth));
      return;
    }
    MessageReader packed(field.bytes);
    while (!packed.empty() && !packed.broken()) {
      list.push_back(value(type, Field{0, Wire::varint, packed.varint(), {}}, depth));
    }
    broken |= packed.broken();
  }

  void add_entry(const Schema& type, std::string_view bytes, int depth, JsonObject& map) {
    MessageReader reader(bytes);
    std::string key;
    Json decoded = type.type == Schema::Type::string ? Json("") : Json();
    while (std::optional<Field> field = reader.next()) {
      if (field->number == 1) key = field->bytes;
      if (field->number == 2) decoded = map_value(type, *field, depth);
    }
    broken |= reader.broken();
    map[key] = std::move(decoded);
  }

  // A list as the value of a map is a message of its own with the items in field 1.
  Json map_value(const Schema& type, const Field& field, int depth) {
    if (type.type != Schema::Type::array) return value(type, field, depth);
    JsonArray list;
    MessageReader reader(field.bytes);
    while (std::optional<Field> item = reader.next()) {
      if (item->number == 1) append(*type.items, *item, depth, list);
    }
    broken |= reader.broken();
    return list;
  }

  Json value(const Schema& type, const Field& field, int depth) {
    switch (type.type) {
      case Schema::Type::integer:
        return type.format == "int32" ? static_cast<int64_t>(static_cast<int32_t>(field.value))
                                      : static_cast<int64_t>(field.value);
      case Schema::Type::boolean:
        return field.value != 0;
      case Schema::Type::number:
        return number(field.value);
      case Schema::Type::string:
        return text(type, field.bytes);
      case Schema::Type::int_or_string:
        return int_or_string(field.bytes);
      case Schema::Type::any:
        return raw_json(field.bytes);
      case Schema::Type::object:
        if (type.preserve_unknown) return raw_json(field.bytes);
        return object(type, field.bytes, depth + 1);
      default:
        return {};
    }
  }

  static Json number(uint64_t bits) {
    double value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }

  Json text(const Schema& type, std::string_view bytes) {
    if (type.format == "byte") return Json(base64_encode(bytes));
    if (type.format == "quantity") return first_bytes(bytes);
    if (type.format == "date-time") return time(type, bytes);
    if (!is_valid_utf8(bytes)) broken = true;
    return Json(bytes);
  }

  // The string or bytes in field 1.
  Json first_bytes(std::string_view bytes) {
    MessageReader reader(bytes);
    Json result;
    while (std::optional<Field> field = reader.next()) {
      if (field->number == 1) result = Json(field->bytes);
    }
    broken |= reader.broken();
    return result;
  }

  Json time(const Schema& type, std::string_view bytes) {
    MessageReader reader(bytes);
    int64_t seconds = 0;
    int64_t nanoseconds = 0;
    while (std::optional<Field> field = reader.next()) {
      if (field->number == 1) seconds = static_cast<int64_t>(field->value);
      if (field->number == 2) nanoseconds = static_cast<int32_t>(field->value);
    }
    broken |= reader.broken();
    if (seconds <= 0 || seconds > 9'000'000'000) return {};  // Go's zero time is long before 1970
    Time at{seconds * 1'000'000'000 + nanoseconds};
    return Json(type.name.ends_with("MicroTime") ? format_rfc3339_micro(at) : format_rfc3339(at));
  }

  Json int_or_string(std::string_view bytes) {
    MessageReader reader(bytes);
    bool is_text = false;
    int64_t number_value = 0;
    std::string_view text_value;
    while (std::optional<Field> field = reader.next()) {
      if (field->number == 1) is_text = field->value == 1;
      if (field->number == 2) number_value = static_cast<int32_t>(field->value);
      if (field->number == 3) text_value = field->bytes;
    }
    broken |= reader.broken();
    return is_text ? Json(text_value) : Json(number_value);
  }

  Json raw_json(std::string_view bytes) {
    Json raw = first_bytes(bytes);
    if (as_text(&raw).empty()) return {};
    Result<Json> parsed = parse_json(as_text(&raw));
    if (!parsed) broken = true;
    return parsed ? std::move(*parsed) : Json();
  }
};

// runtime.Unknown: what the bytes are, and the bytes.
struct Envelope {
  std::string api_version;
  std::string kind;
  std::string_view raw;
};

std::optional<Envelope> open_envelope(std::string_view body) {
  if (!body.starts_with(magic)) return std::nullopt;
  Envelope envelope;
  MessageReader reader(body.substr(magic.size()));
  while (std::optional<Field> field = reader.next()) {
    if (field->number == 2) envelope.raw = field->bytes;
    if (field->number != 1) continue;
    MessageReader type(field->bytes);
    while (std::optional<Field> part = type.next()) {
      if (part->number == 1) envelope.api_version = part->bytes;
      if (part->number == 2) envelope.kind = part->bytes;
    }
    if (type.broken()) return std::nullopt;
  }
  if (reader.broken()) return std::nullopt;
  return envelope;
}

const Schema* schema_of(const Envelope& envelope, const BuiltinSchemas& schemas) {
  // Its schema has fields with names that protobuf cannot have.
  if (envelope.kind == "CustomResourceDefinition") return nullptr;
  if (envelope.kind == "DeleteOptions") {
    return schemas.find("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
  }
  size_t slash = envelope.api_version.find('/');
  if (slash == std::string::npos) return schemas.of("", envelope.api_version, envelope.kind);
  return schemas.of(envelope.api_version.substr(0, slash), envelope.api_version.substr(slash + 1),
                    envelope.kind);
}

}  // namespace

Outcome<Json> read_protobuf(std::string_view body, const BuiltinSchemas& schemas) {
  std::optional<Envelope> envelope = open_envelope(body);
  if (!envelope) return Refusal(bad_request("the body is no object in Kubernetes' protobuf"));
  const Schema* schema = schema_of(*envelope, schemas);
  if (schema == nullptr) {
    return Refusal(
        unsupported_media_type(protobuf_media_type, {"application/json", "application/yaml"}));
  }
  Decoder decoder;
  JsonObject object;
  object["kind"] = envelope->kind;
  object["apiVersion"] = envelope->api_version;
  for (auto& entry : decoder.object(*schema, envelope->raw, 0)) object.insert(entry);
  if (decoder.broken) {
    return Refusal(bad_request(fmt::format("{} in version \"{}\" cannot be read from protobuf",
                                           envelope->kind, envelope->api_version)));
  }
  return Json(std::move(object));
}

}  // namespace lockstep::apiserver
