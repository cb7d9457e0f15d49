// Reads builtin_types.txt into schemas.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "apiserver/schema/builtin_text.h"
#include "apiserver/schema/schema.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

// The table leaves out what every name of a family starts with.
std::string full_name(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> families[] = {
      {"meta.", "io.k8s.apimachinery.pkg.apis."},
      {"api.", "io.k8s.apimachinery.pkg."},
      {"runtime.", "io.k8s.apimachinery.pkg."},
      {"util.", "io.k8s.apimachinery.pkg."},
      {"apiextensions.", "io.k8s.apiextensions-apiserver.pkg.apis."},
  };
  for (const auto& [start, prefix] : families) {
    if (name.starts_with(start)) return std::string(prefix) + std::string(name);
  }
  return "io.k8s.api." + std::string(name);
}

struct Scalar {
  std::string_view word;
  Schema::Type type;
  std::string_view format;
};

constexpr Scalar scalars[] = {
    {"any", Schema::Type::any, ""},
    {"anyobject", Schema::Type::object, ""},
    {"boolean", Schema::Type::boolean, ""},
    {"byte", Schema::Type::string, "byte"},
    {"date-time", Schema::Type::string, "date-time"},
    {"double", Schema::Type::number, "double"},
    {"int-or-string", Schema::Type::int_or_string, "int-or-string"},
    {"int32", Schema::Type::integer, "int32"},
    {"int64", Schema::Type::integer, "int64"},
    {"integer", Schema::Type::integer, ""},
    {"number", Schema::Type::number, ""},
    {"quantity", Schema::Type::string, "quantity"},
    {"string", Schema::Type::string, ""},
};

std::string_view next_word(std::string_view& line) {
  size_t end = line.find(' ');
  std::string_view word = line.substr(0, end);
  line = end == std::string_view::npos ? std::string_view() : line.substr(end + 1);
  return word;
}

class TableReader {
 public:
  explicit TableReader(SchemaSet& set) : set_(set) {
    for (const Scalar& scalar : scalars) set_scalar(words_[scalar.word] = &set_.add(), scalar);
  }

  void read(std::string_view text) {
    while (!text.empty()) {
      size_t end = text.find('\n');
      read_line(text.substr(0, end));
      if (end == std::string_view::npos) break;
      text.remove_prefix(end + 1);
    }
    copy_variants();
  }

  // By the short names of the table.
  const std::unordered_map<std::string_view, Schema*>& named() const { return named_; }

 private:
  // A field that uses a named type but merges in a way of its own.
  struct Variant {
    Schema* schema;
    const Schema* original;
  };

  static void set_scalar(Schema* schema, const Scalar& scalar) {
    schema->type = scalar.type;
    schema->format = scalar.format;
    schema->preserve_unknown = scalar.word.starts_with("any");
    schema->typed = true;
  }

  void read_line(std::string_view line) {
    if (line.empty() || line.front() == '#') return;
    if (line.front() == ' ') return read_field(line.substr(1));
    std::string_view word = next_word(line);
    std::string_view name = next_word(line);
    current_ = named_type(name);
    if (word == "scalar") {
      for (const Scalar& scalar : scalars) {
        if (scalar.word == line) set_scalar(current_, scalar);
      }
      return;
    }
    current_->type = Schema::Type::object;
    while (!line.empty()) {
      std::string_view fact = next_word(line);
      if (fact.starts_with("kind=")) current_->kind = fact.substr(5);
      if (fact == "atomic") current_->atomic = true;
    }
  }

  Schema* named_type(std::string_view name) {
    Schema*& schema = named_[name];
    if (schema == nullptr) {
      schema = &set_.add();
      schema->name = full_name(name);
      schema->typed = true;
    }
    return schema;
  }

  void read_field(std::string_view line) {
    std::string_view name = next_word(line);
    std::string_view type_text = next_word(line);
    Schema::WireField wire = read_wire(name);
    wire.field = static_cast<uint16_t>(current_->fields.size());
    if (wire.number != 0) current_->wire.push_back(wire);
    if (name.ends_with('!')) {
      name.remove_suffix(1);
      current_->required.emplace_back(name);
    }
    Schema* type = read_type(type_text);
    if (!line.empty()) type = with_facts(type, line);
    current_->fields.emplace_back(name, type);
  }

  // Takes "?@2.6" off the end of "secret?@2.6".
  static Schema::WireField read_wire(std::string_view& name) {
    Schema::WireField wire;
    if (size_t at = name.find('@'); at != std::string_view::npos) {
      std::vector<std::string_view> numbers = split(name.substr(at + 1), '.');
      if (numbers.size() > 1) {
        wire.outer = static_cast<int>(parse_integer(numbers[0]).value_or(0));
      }
      wire.number = static_cast<int>(parse_integer(numbers.back()).value_or(0));
      name = name.substr(0, at);
    }
    if (name.ends_with('?')) {
      wire.is_pointer = true;
      name.remove_suffix(1);
    }
    return wire;
  }

  Schema* read_type(std::string_view text) {
    bool is_list = text.starts_with("[]");
    if (is_list || text.starts_with("map[]")) {
      Schema* schema = &set_.add();
      schema->typed = true;
      schema->type = is_list ? Schema::Type::array : Schema::Type::map;
      schema->items = read_type(text.substr(is_list ? 2 : 5));
      return schema;
    }
    auto found = words_.find(text);
    return found != words_.end() ? found->second : named_type(text);
  }

  Schema* with_facts(Schema* type, std::string_view facts) {
    Schema* schema = type;
    if (type->type != Schema::Type::array && type->type != Schema::Type::map) {
      schema = &set_.add();
      if (type->name.empty()) {
        *schema = *type;
      } else {
        variants_.push_back({schema, type});
      }
    }
    while (!facts.empty()) read_fact(*schema, next_word(facts));
    return schema;
  }

  static void read_fact(Schema& schema, std::string_view fact) {
    size_t equals = fact.find('=');
    std::string_view name = fact.substr(0, equals);
    std::string_view value = equals == std::string_view::npos ? "" : fact.substr(equals + 1);
    if (name == "atomic") schema.atomic = true;
    if (name == "list") read_list(schema, value);
    if (name == "patch") read_patch(schema.patch, value);
    if (name == "default") {
      if (Result<Json> parsed = parse_json(value)) schema.default_value = std::move(*parsed);
    }
  }

  static void read_list(Schema& schema, std::string_view value) {
    if (value == "set") schema.list_kind = Schema::ListKind::set;
    if (!value.starts_with("map:")) return;
    schema.list_kind = Schema::ListKind::map;
    for (std::string_view key : split(value.substr(4), ',')) schema.list_keys.emplace_back(key);
  }

  static void read_patch(ListMerge& merge, std::string_view value) {
    size_t colon = value.find(':');
    for (std::string_view strategy : split(value.substr(0, colon), ',')) {
      if (strategy == "merge") merge.kind = ListMerge::Kind::set;
      if (strategy == "retainKeys") merge.retain_keys = true;
    }
    if (colon == std::string_view::npos) return;
    merge.kind = ListMerge::Kind::by_key;
    merge.key = value.substr(colon + 1);
  }

  // Last, when the originals are complete.
  void copy_variants() {
    for (auto& [name, schema] : named_) std::sort(schema->wire.begin(), schema->wire.end());
    for (const Variant& variant : variants_) {
      Schema facts = std::move(*variant.schema);
      *variant.schema = *variant.original;
      variant.schema->patch = std::move(facts.patch);
      variant.schema->atomic |= facts.atomic;
      variant.schema->default_value = std::move(facts.default_value);
    }
  }

  SchemaSet& set_;
  Schema* current_ = nullptr;
  std::unordered_map<std::string_view, Schema*> words_;
  std::unordered_map<std::string_view, Schema*> named_;
  std::vector<Variant> variants_;
};

const Schema* find_sorted(const std::vector<std::pair<std::string, const Schema*>>& list,
                          std::string_view name) {
  auto found = std::lower_bound(list.begin(), list.end(), name, [](const auto& entry, auto wanted) {
    return std::string_view(entry.first) < wanted;
  });
  return found != list.end() && found->first == name ? found->second : nullptr;
}

// Of names of fields: their length and three letters distinguish nearly all fields of one type.
size_t quick_hash(std::string_view name) {
  if (name.empty()) return 0;
  auto letter = [&](size_t at) {
    return static_cast<size_t>(static_cast<unsigned char>(name[at]));
  };
  return name.size() * 7 + letter(0) * 3 + letter(name.size() / 2) * 5 +
         letter(name.size() - 1) * 11;
}

}  // namespace

const Schema* Schema::field(std::string_view field_name) const {
  if (field_index_.empty()) return find_sorted(fields, field_name);
  const size_t mask = field_index_.size() - 1;
  for (size_t at = quick_hash(field_name) & mask; field_index_[at] != 0; at = (at + 1) & mask) {
    const auto& [known, schema] = fields[field_index_[at] - 1];
    if (known == field_name) return schema;
  }
  return nullptr;
}

void Schema::index_fields() {
  field_index_.clear();
  constexpr size_t most = 127;
  if (fields.empty() || fields.size() > most) return;
  field_index_.resize(std::bit_ceil(2 * fields.size()));
  const size_t mask = field_index_.size() - 1;
  for (size_t i = 0; i < fields.size(); ++i) {
    size_t at = quick_hash(fields[i].first) & mask;
    while (field_index_[at] != 0) at = (at + 1) & mask;
    field_index_[at] = static_cast<uint8_t>(i + 1);
  }
}

BuiltinSchemas::BuiltinSchemas() {
  TableReader reader(set_);
  reader.read(builtin_types_text);
  for (Schema& schema : set_.all()) schema.index_fields();
  for (std::string_view line : split(builtin_descriptions_text, '\n')) {
    if (line.empty() || line.front() == '#') continue;
    std::string_view name = next_word(line);
    auto type = reader.named().find(name);
    if (type != reader.named().end()) {
      type->second->description = line;
    } else {
      field_descriptions_.emplace(full_name(name), line);
    }
  }
  for (const auto& [name, schema] : reader.named()) {
    by_name_.emplace_back(schema->name, schema);
    if (!schema->kind.empty()) by_kind_.emplace_back(schema->kind, schema);
  }
  std::sort(by_name_.begin(), by_name_.end());
  std::sort(by_kind_.begin(), by_kind_.end());
}

const BuiltinSchemas& builtin_schemas() {
  // Never destroyed: a server in another thread may outlive main.
  static const BuiltinSchemas* const schemas = new BuiltinSchemas;
  return *schemas;
}

const Schema* BuiltinSchemas::find(std::string_view name) const {
  return find_sorted(by_name_, name);
}

const Schema* BuiltinSchemas::of(std::string_view group, std::string_view version,
                                 std::string_view kind) const {
  return find_sorted(by_kind_, fmt::format("{}/{}/{}", group, version, kind));
}

std::vector<const Schema*> BuiltinSchemas::all() const {
  std::vector<const Schema*> result;
  for (const auto& [name, schema] : by_name_) result.push_back(schema);
  return result;
}

std::string_view BuiltinSchemas::describe_field(const Schema& type, std::string_view field) const {
  auto found = field_descriptions_.find(fmt::format("{}.{}", type.name, field));
  return found == field_descriptions_.end() ? std::string_view() : found->second;
}

}  // namespace lockstep::apiserver
