#include "apiserver/schema.h"

namespace lockstep::apiserver {

namespace {

// Steps over arrays: a path names no indexes.
const Schema* item_of(const Schema* schema) {
  while (schema != nullptr && schema->type == Schema::Type::array) schema = schema->items;
  return schema;
}

const Schema* child_of(const Schema* schema, std::string_view name) {
  if (schema == nullptr) return nullptr;
  return schema->type == Schema::Type::map ? schema->items : schema->field(name);
}

}  // namespace

ListMerge SchemaMerge::at(std::string_view path) const {
  const Schema* schema = root_;
  while (!path.empty()) {
    size_t dot = path.find('.');
    schema = child_of(item_of(schema), path.substr(0, dot));
    if (schema == nullptr) return {};
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return schema == nullptr ? ListMerge{} : schema->patch;
}

}  // namespace lockstep::apiserver
