// A strategic merge patch never crashes; one that fails changes nothing; what it brings in has no
// directives and no null fields; without directives and with each item once, applied twice it is
// the same as once.
#include <set>

#include "data/patch.h"
#include "document_from_bytes.h"

namespace {

using namespace lockstep;

constexpr std::array<std::string_view, 8> document_words = {"items", "names", "atomic", "map",
                                                            "name",  "a",     "b",      "c"};
constexpr std::array<std::string_view, 20> patch_words = {"items",
                                                          "names",
                                                          "atomic",
                                                          "map",
                                                          "name",
                                                          "a",
                                                          "b",
                                                          "c",
                                                          "$patch",
                                                          "replace",
                                                          "delete",
                                                          "merge",
                                                          "$retainKeys",
                                                          "$setElementOrder/items",
                                                          "$setElementOrder/names",
                                                          "$setElementOrder/atomic",
                                                          "$deleteFromPrimitiveList/names",
                                                          "$deleteFromPrimitiveList/items",
                                                          "$setElementOrder",
                                                          "$deleteFromPrimitiveList/"};

class Schema : public MergeSchema {
 public:
  ListMerge at(std::string_view path) const override {
    if (path.ends_with("items")) return {ListMerge::Kind::by_key, "name"};
    if (path.ends_with("names")) return {ListMerge::Kind::set, {}};
    return {};
  }
};

void drop_nulls(Json& value) {
  if (JsonArray* array = value.if_array()) {
    for (Json& item : *array) drop_nulls(item);
  } else if (JsonObject* object = value.if_object()) {
    JsonObject kept;
    for (auto& [key, child] : *object) {
      drop_nulls(child);
      if (!child.is_null()) kept.emplace(key, child);
    }
    *object = kept;
  }
}

bool is_clean(const Json& value) {
  if (const JsonArray* array = value.if_array()) {
    for (const Json& item : *array) {
      if (!is_clean(item)) return false;
    }
  } else if (const JsonObject* object = value.if_object()) {
    for (const auto& [key, child] : *object) {
      if (key.starts_with("$") || child.is_null() || !is_clean(child)) return false;
    }
  }
  return true;
}

// Two items of the same name in a list of the patch are two items at first, and one when merged.
bool has_twins(const Json& value) {
  std::set<std::string> seen;
  if (const JsonArray* array = value.if_array()) {
    for (const Json& item : *array) {
      const Json* name = find(item, "name");
      if (has_twins(item) || !seen.insert(print_json(name == nullptr ? item : *name)).second) {
        return true;
      }
    }
  } else if (const JsonObject* object = value.if_object()) {
    for (const auto& [key, child] : *object) {
      if (has_twins(child)) return true;
    }
  }
  return false;
}

void check_twice_is_once(Json document, const Json& patch) {
  if (has_twins(patch) || !apply_strategic_patch(document, patch, Schema())) return;
  const Json once = document;
  // What has just been set may be a list that cannot be merged with itself: items without a name.
  if (!apply_strategic_patch(document, patch, Schema())) return;
  fuzz::require(json_equal(document, once), "twice is once");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Bytes bytes(data, size);
  Json document = fuzz::document_from(bytes, document_words);
  drop_nulls(document);
  const Json patch = fuzz::document_from(bytes, patch_words);

  check_twice_is_once(document, fuzz::document_from(bytes, document_words));

  const Json before = document;
  const Result<void> result = apply_strategic_patch(document, patch, Schema());
  if (!result) {
    fuzz::require(print_json(document) == print_json(before), "a patch that fails changes nothing");
    return 0;
  }
  fuzz::require(is_clean(document), "no directives and no nulls in what comes out");
  return 0;
}
