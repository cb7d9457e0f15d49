// A small kind of object with every way of merging, for the tests of server-side apply.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "apiserver/apply/apply.h"
#include "apiserver/apply/field_set.h"
#include "apiserver/schema/schema_test_util.h"
#include "base/strings.h"

namespace lockstep::apiserver {

// spec: replicas, containers by name (image, command as a whole, env by name, ports by number and
// protocol), selector as a whole, anything; status: conditions by type.
class ThingSchema {
 public:
  ThingSchema() {
    string_.type = Schema::Type::string;
    integer_.type = Schema::Type::integer;
    anything_.type = Schema::Type::any;
    protocol_ = string_;
    protocol_.default_value = Json("TCP");
    texts_ = make(Schema::Type::map, &string_);
    whole_texts_ = texts_;
    whole_texts_.atomic = true;
    list_ = make(Schema::Type::array, &string_);
    set_ = list_;
    set_.list_kind = Schema::ListKind::set;

    port_.type = Schema::Type::object;
    port_.fields = {{"name", &string_}, {"number", &integer_}, {"protocol", &protocol_}};
    ports_ = keyed(&port_, {"number", "protocol"});
    variable_.type = Schema::Type::object;
    variable_.fields = {{"name", &string_}, {"value", &string_}};
    variables_ = keyed(&variable_, {"name"});
    container_.type = Schema::Type::object;
    container_.fields = {{"command", &list_},
                         {"env", &variables_},
                         {"image", &string_},
                         {"name", &string_},
                         {"ports", &ports_}};
    containers_ = keyed(&container_, {"name"});
    condition_.type = Schema::Type::object;
    condition_.fields = {{"status", &string_}, {"type", &string_}};
    conditions_ = keyed(&condition_, {"type"});

    metadata_.type = Schema::Type::object;
    metadata_.fields = {{"annotations", &texts_},
                        {"creationTimestamp", &string_},
                        {"finalizers", &set_},
                        {"generation", &integer_},
                        {"labels", &texts_},
                        {"managedFields", &anything_},
                        {"name", &string_},
                        {"namespace", &string_},
                        {"resourceVersion", &string_},
                        {"uid", &string_}};
    spec_.type = Schema::Type::object;
    spec_.fields = {{"anything", &anything_},
                    {"containers", &containers_},
                    {"replicas", &integer_},
                    {"selector", &whole_texts_}};
    status_.type = Schema::Type::object;
    status_.fields = {{"conditions", &conditions_}, {"count", &integer_}};
    root_.type = Schema::Type::object;
    root_.fields = {{"apiVersion", &string_},
                    {"kind", &string_},
                    {"metadata", &metadata_},
                    {"spec", &spec_},
                    {"status", &status_}};
  }
  ThingSchema(const ThingSchema&) = delete;

  const Schema* root() const { return &root_; }
  // As a built-in kind.
  const Schema* typed() {
    root_.typed = true;
    root_.kind = "example.com/v1/Thing";
    return &root_;
  }

 private:
  static Schema make(Schema::Type type, const Schema* items) {
    Schema schema;
    schema.type = type;
    schema.items = items;
    return schema;
  }
  static Schema keyed(const Schema* items, std::vector<std::string> keys) {
    Schema schema = make(Schema::Type::array, items);
    schema.list_kind = Schema::ListKind::map;
    schema.list_keys = std::move(keys);
    return schema;
  }

  Schema string_, integer_, anything_, protocol_, texts_, whole_texts_, list_, set_;
  Schema port_, ports_, variable_, variables_, container_, containers_, condition_, conditions_;
  Schema metadata_, spec_, status_, root_;
};

inline const ResourceType thing_type = {"example.com", "v1", "Thing", "things", true};

inline FieldManager by(std::string name, std::string subresource = "") {
  return {std::move(name), "example.com/v1", std::move(subresource)};
}

// {"apiVersion":…,"kind":"Thing","metadata":{"name":"x"}, …}
inline Json thing(std::string_view rest) {
  constexpr std::string_view metadata = "\"metadata\":{";
  const std::string header =
      R"({"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x")";
  if (rest.empty()) return json(header + "}}");
  if (!rest.starts_with(metadata)) return json(header + "}," + std::string(rest) + "}");
  return json(header + "," + std::string(rest.substr(metadata.size())) + "}");
}

// ".spec.replicas .spec.containers[name=\"c\"]"
inline std::string text_of(const FieldSet& set) {
  std::vector<std::string> paths;
  set.for_each([&](const FieldPath& path) { paths.push_back(readable(path)); });
  return join(paths, " ");
}

inline std::string text_of_fields(const Json& fields_v1) {
  Result<FieldSet> set = FieldSet::decode(fields_v1);
  return set ? text_of(*set) : "unreadable";
}

// "kubectl Apply: .spec.replicas; lockstep Update status: .status.count", in the order of the
// object.
inline std::string owners_of(const Json& object) {
  std::string text;
  const Json* managed = find(object, "metadata", "managedFields");
  if (managed == nullptr) return "nobody";
  for (const Json& entry : managed->as_array()) {
    if (!text.empty()) text += "; ";
    text += std::string(text_at(entry, "manager")) + " " + std::string(text_at(entry, "operation"));
    if (!text_at(entry, "subresource").empty())
      text += " " + std::string(text_at(entry, "subresource"));
    text += ": " + text_of_fields(*find(entry, "fieldsV1"));
  }
  return text;
}

inline Json without_managed(Json object) {
  if (Json* metadata = find(object, "metadata")) {
    erase_key(metadata->as_object(), "managedFields");
  }
  return object;
}

namespace generate {

inline Json texts(const std::vector<std::string>& keys) {
  JsonObject object;
  for (const std::string& key : keys) {
    if (*rc::gen::arbitrary<bool>()) object[key] = *rc::gen::element<std::string>("1", "2");
  }
  return object;
}

inline Json container(const std::string& name) {
  JsonObject object = {{"name", name}};
  if (*rc::gen::arbitrary<bool>()) object["image"] = *rc::gen::element<std::string>("i", "j");
  if (*rc::gen::inRange(0, 3) == 0) object["command"] = JsonArray{"run"};
  if (*rc::gen::arbitrary<bool>()) {
    JsonArray ports;
    for (const int number : {9, 80}) {
      if (*rc::gen::arbitrary<bool>()) ports.push_back(JsonObject{{"number", number}});
    }
    object["ports"] = ports;
  }
  return object;
}

// A thing with some of its fields.
inline Json thing() {
  JsonObject metadata = {{"name", "x"}};
  if (*rc::gen::arbitrary<bool>()) metadata["labels"] = texts({"a", "b", "c"});
  if (*rc::gen::arbitrary<bool>()) {
    JsonArray finalizers;
    for (const char* name : {"f", "g"}) {
      if (*rc::gen::arbitrary<bool>()) finalizers.push_back(Json(name));
    }
    metadata["finalizers"] = finalizers;
  }
  JsonObject spec;
  if (*rc::gen::arbitrary<bool>()) spec["replicas"] = *rc::gen::inRange(0, 3);
  if (*rc::gen::arbitrary<bool>()) spec["selector"] = texts({"p", "q"});
  if (*rc::gen::arbitrary<bool>()) spec["anything"] = texts({"u", "v"});
  if (*rc::gen::arbitrary<bool>()) {
    JsonArray containers;
    for (const char* name : {"c", "d", "e"}) {
      if (*rc::gen::arbitrary<bool>()) containers.push_back(container(name));
    }
    spec["containers"] = containers;
  }
  JsonObject object = {{"apiVersion", "example.com/v1"}, {"kind", "Thing"}, {"metadata", metadata}};
  if (!spec.empty()) object["spec"] = spec;
  return object;
}

}  // namespace generate

}  // namespace lockstep::apiserver
