// What a kind of object may hold: built-in types from a table of facts, custom ones from their CRD.
// One model serves strict validation, defaulting, pruning, strategic merge, server-side apply and
// OpenAPI.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/schema/pattern.h"
#include "apiserver/schema/status.h"
#include "data/json.h"
#include "data/patch.h"

namespace lockstep::apiserver {

struct Schema {
  enum class Type { any, object, map, array, string, integer, number, boolean, int_or_string };
  enum class ListKind { atomic, map, set };

  Type type = Type::any;
  std::string name;  // of a type that others refer to: "io.k8s.api.core.v1.PodSpec"
  std::string description;
  std::string format;  // "int32", "date-time", "byte", "quantity", …
  // Of a built-in kind, as "apps/v1/DaemonSet" ("/v1/Pod").
  std::string kind;
  // A Go struct of the real server: what is not in it is lost, null is the zero value, and only
  // OpenAPI shows `required` (the rules of the kind check it, with their own messages).
  bool typed = false;

  std::vector<std::pair<std::string, const Schema*>> fields;  // sorted by name
  const Schema* items = nullptr;                              // of an array, or the values of a map
  std::vector<std::string> required;
  // Of a built-in object: where protobuf has its fields, sorted.
  struct WireField {
    int outer = 0;  // the field whose message JSON has inline; 0: none
    int number = 0;
    uint16_t field = 0;       // index into `fields`
    bool is_pointer = false;  // then zero is not "not set"
    auto operator<=>(const WireField&) const = default;
  };
  std::vector<WireField> wire;

  // Lists: how server-side apply and strategic merge see them. They differ for a few old types.
  ListKind list_kind = ListKind::atomic;
  std::vector<std::string> list_keys;
  ListMerge patch;
  bool atomic = false;  // of an object or map: owned whole

  // Built-in types have a default only where the key of a list map does (a port's protocol).
  std::optional<Json> default_value;

  // CRDs only, but for preserve_unknown (RawExtension, FieldsV1).
  bool preserve_unknown = false;
  bool embedded_resource = false;
  bool nullable = false;
  std::vector<Json> allowed;  // enum
  std::string pattern;
  std::shared_ptr<const Pattern> compiled_pattern;
  std::optional<double> minimum, maximum;
  bool exclusive_minimum = false, exclusive_maximum = false;
  std::optional<int64_t> min_length, max_length, min_items, max_items, min_properties,
      max_properties;
  std::optional<double> multiple_of;
  bool unique_items = false;
  std::vector<const Schema*> all_of, any_of, one_of;
  const Schema* not_schema = nullptr;

  const Schema* field(std::string_view name) const;
  // Makes field() faster, once `fields` is complete.
  void index_fields();

 private:
  std::vector<uint8_t> field_index_;  // one more than the place in `fields`, by hash; 0: none
};

// Owns the schemas that refer to each other.
class SchemaSet {
 public:
  Schema& add() { return schemas_.emplace_back(); }
  std::deque<Schema>& all() { return schemas_; }

 private:
  std::deque<Schema> schemas_;
};

// Built-in types: parsed once from the table, on first use, by their owner.
class BuiltinSchemas {
 public:
  BuiltinSchemas();
  // By "io.k8s.api.core.v1.Pod"; null when the table does not have it.
  const Schema* find(std::string_view name) const;
  const Schema* of(std::string_view group, std::string_view version, std::string_view kind) const;
  // Every named schema, sorted by name (for OpenAPI).
  std::vector<const Schema*> all() const;
  // What `kubectl explain` says of a field; empty for most.
  std::string_view describe_field(const Schema& type, std::string_view field) const;

 private:
  SchemaSet set_;
  std::vector<std::pair<std::string, const Schema*>> by_name_;  // sorted
  std::vector<std::pair<std::string, const Schema*>> by_kind_;  // "apps/v1/DaemonSet", sorted
  std::map<std::string, std::string, std::less<>>
      field_descriptions_;  // "core.v1.PodSpec.nodeName"
};

// The ones of this program: they never change, so all servers in it share them, in all threads.
const BuiltinSchemas& builtin_schemas();

// spec.versions[].schema.openAPIV3Schema into a schema that also knows apiVersion, kind and
// metadata. The causes say what is not structural.
tl::expected<const Schema*, std::vector<StatusCause>> schema_from_crd(const Json& open_api,
                                                                      SchemaSet& set,
                                                                      const Schema* object_meta,
                                                                      std::string_view place);

// The fields of an object that a write may have changed. The others passed every check when
// they were stored: most writes name one field of many, and need no second check of the
// rest.
class TouchedFields {
 public:
  // All of them.
  TouchedFields() = default;
  // Those of a merge patch or a strategic one; all when it has directives. `before` is the object
  // as it was stored: what the two share was not changed, whatever the patch names.
  static TouchedFields by(const JsonObject& patch, const Json* before = nullptr);

  bool contains(std::string_view field) const;
  // What the write may have changed inside of a field that has this value, or of an item of a list;
  // nothing: it was not touched. Only of that which merges key by key: of a list, all of it.
  std::optional<TouchedFields> below(std::string_view field, const Json& value) const;
  std::optional<TouchedFields> below_item(size_t at, const Json& value) const;
  bool all() const { return patch_ == nullptr; }
  // Nothing but the status and what every write touches.
  bool only_status() const;

 private:
  const JsonObject* patch_ = nullptr;  // null: all
  const Json* before_ = nullptr;       // this part of the object as it was; null: not known
  bool is_top_ = true;                 // where the server itself writes into the metadata
};

// "spec.foo", "spec.containers[0].bar": fields that the schema does not have.
std::vector<std::string> unknown_fields(const Schema& schema, const Json& object,
                                        const TouchedFields& touched = {});
// The same, and whether prune() would find nothing to do: in one walk.
struct FieldReview {
  std::vector<std::string> unknown;
  bool is_pruned = true;
};
FieldReview review_fields(const Schema& schema, const Json& object,
                          const TouchedFields& touched = {});
// Removes them (custom resources always; built-in types too, as a typed server would lose them).
void prune(const Schema& schema, Json& object, const TouchedFields& touched = {});
// Fills in defaults where a field is absent.
void apply_defaults(const Schema& schema, Json& object);
// Why a typed server could not decode an object of a built-in type, in the words of its decoder:
// "json: cannot unmarshal string into Go struct field DaemonSetSpec.spec.minReadySeconds of type
// int32". The answer is a 400: "DaemonSet in version \"v1\" cannot be handled as a DaemonSet: " and
// this.
std::optional<std::string> decode_error(const Schema& schema, const Json& object,
                                        const TouchedFields& touched = {});
// Types, required fields, enums, patterns, bounds.
std::vector<StatusCause> validate(const Schema& schema, const Json& object,
                                  const std::string& place = {});

// The view that apply_strategic_patch needs.
class SchemaMerge final : public MergeSchema {
 public:
  explicit SchemaMerge(const Schema* root) : root_(root) {}
  ListMerge at(std::string_view path) const override;

 private:
  const Schema* root_;
};

}  // namespace lockstep::apiserver
