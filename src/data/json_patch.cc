#include <algorithm>

#include "data/json_pointer.h"
#include "data/patch.h"

namespace lockstep {

namespace {

// How deep containers nest: zero for a scalar.
size_t depth_of(const Json& value) {
  size_t inner = 0;
  if (const JsonObject* object = value.if_object()) {
    for (const auto& [key, child] : *object) inner = std::max(inner, depth_of(child));
  } else if (const JsonArray* array = value.if_array()) {
    for (const Json& child : *array) inner = std::max(inner, depth_of(child));
  } else {
    return 0;
  }
  return inner + 1;
}

// Takes about as much from the budget as the value takes when printed; false when it is not enough.
bool spend(const Json& value, size_t& budget) {
  size_t own = 8;
  if (const auto* text = value.if_string()) own += text->size();
  if (own > budget) return false;
  budget -= own;
  if (const JsonObject* object = value.if_object()) {
    return std::all_of(object->begin(), object->end(), [&](const auto& field) {
      if (field.key().size() > budget) return false;
      budget -= field.key().size();
      return spend(field.value(), budget);
    });
  }
  if (const JsonArray* array = value.if_array()) {
    return std::all_of(array->begin(), array->end(),
                       [&](const Json& item) { return spend(item, budget); });
  }
  return true;
}

// One run of a patch over a working copy of the document.
class Patcher {
 public:
  Patcher(Json document, const JsonPatchLimits& limits)
      : document_(std::move(document)),
        depth_(depth_of(document_)),
        depth_limit_(std::max(limits.depth, depth_)),
        copy_budget_(limits.copied_bytes) {}

  Result<void> apply(const JsonObject& operation);
  Json take() { return std::move(document_); }

 private:
  Result<void> add(const JsonPointer& path, Json value, size_t value_depth);
  Result<void> insert(JsonArray& array, const JsonPointer& path, Json value);
  Result<Json> remove(const JsonPointer& path);
  Result<void> replace(const JsonPointer& path, const Json& value);
  Result<void> move(const JsonPointer& from, const JsonPointer& path);
  Result<void> copy(const JsonPointer& from, const JsonPointer& path);
  Result<void> test(const JsonPointer& path, const Json& value);
  Result<void> grow(size_t path_length, size_t value_depth);

  Json document_;
  size_t depth_;  // at least how deep the document is
  size_t depth_limit_;
  size_t copy_budget_;
};

Result<JsonPointer> path_in(const JsonObject& operation, std::string_view key) {
  const Json* pointer = operation.if_contains(key);
  if (pointer == nullptr) return failf(ErrorKind::invalid, "it has no \"{}\"", key);
  if (!pointer->is_string()) return failf(ErrorKind::invalid, "\"{}\" is not a string", key);
  return parse_json_pointer(as_text(pointer));
}

Result<const Json*> value_in(const JsonObject& operation) {
  const Json* value = operation.if_contains("value");
  if (value == nullptr) return fail(ErrorKind::invalid, "it has no \"value\"");
  return value;
}

Result<void> Patcher::apply(const JsonObject& operation) {
  const std::string_view name = as_text(operation.if_contains("op"));
  LOCKSTEP_TRY(const JsonPointer path, path_in(operation, "path"));
  if (name == "remove") {
    LOCKSTEP_CHECK(remove(path));
    return {};
  }
  if (name == "move" || name == "copy") {
    LOCKSTEP_TRY(const JsonPointer from, path_in(operation, "from"));
    return name == "move" ? move(from, path) : copy(from, path);
  }
  if (name != "add" && name != "replace" && name != "test") {
    return fail(ErrorKind::invalid, "\"op\" must be add, remove, replace, move, copy or test");
  }
  LOCKSTEP_TRY(const Json* value, value_in(operation));
  if (name == "add") return add(path, *value, depth_of(*value));
  return name == "replace" ? replace(path, *value) : test(path, *value);
}

// A document with unlimited nesting would overflow the stack of the next function that walks it.
Result<void> Patcher::grow(size_t path_length, size_t value_depth) {
  depth_ = std::max(depth_, path_length + value_depth);
  if (depth_ > depth_limit_) {
    return failf(ErrorKind::too_large, "the document would nest deeper than {}", depth_limit_);
  }
  return {};
}

Result<void> Patcher::add(const JsonPointer& path, Json value, size_t value_depth) {
  LOCKSTEP_CHECK(grow(path.size(), value_depth));
  if (path.empty()) {
    document_ = std::move(value);
    return {};
  }
  LOCKSTEP_TRY(Json * parent, follow_pointer(document_, path, path.size() - 1));
  if (JsonObject* object = parent->if_object()) {
    object->insert_or_assign(path.back(), std::move(value));
    return {};
  }
  if (JsonArray* array = parent->if_array()) return insert(*array, path, std::move(value));
  return failf(ErrorKind::invalid, "{} is neither an object nor a list",
               describe_pointer(path, path.size() - 1));
}

Result<void> Patcher::insert(JsonArray& array, const JsonPointer& path, Json value) {
  if (path.back() == "-") {
    array.push_back(std::move(value));
    return {};
  }
  const auto index = parse_array_index(path.back());
  if (!index) {
    return failf(ErrorKind::invalid, "\"{}\" is neither an index nor \"-\", and {} is a list",
                 path.back(), describe_pointer(path, path.size() - 1));
  }
  if (*index > array.size()) {
    return failf(ErrorKind::invalid, "index {} is past the end: {} has {} items", *index,
                 describe_pointer(path, path.size() - 1), array.size());
  }
  array.insert(array.begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
  return {};
}

Result<Json> Patcher::remove(const JsonPointer& path) {
  if (path.empty()) return fail(ErrorKind::invalid, "the whole document cannot be removed");
  LOCKSTEP_TRY(Json * value, follow_pointer(document_, path, path.size()));
  LOCKSTEP_TRY(Json * parent, follow_pointer(document_, path, path.size() - 1));
  Json removed = std::move(*value);
  if (JsonObject* object = parent->if_object()) {
    erase_key(*object, path.back());
  } else {
    JsonArray& array = parent->get_array();
    array.erase(array.begin() + (value - array.data()));
  }
  return removed;
}

Result<void> Patcher::replace(const JsonPointer& path, const Json& value) {
  LOCKSTEP_CHECK(grow(path.size(), depth_of(value)));
  LOCKSTEP_TRY(Json * target, follow_pointer(document_, path, path.size()));
  *target = value;
  return {};
}

Result<void> Patcher::move(const JsonPointer& from, const JsonPointer& path) {
  LOCKSTEP_CHECK(follow_pointer(document_, from, from.size()));
  if (from == path) return {};
  if (from.size() < path.size() && std::equal(from.begin(), from.end(), path.begin())) {
    return failf(ErrorKind::invalid, "{} cannot move into itself",
                 describe_pointer(from, from.size()));
  }
  LOCKSTEP_TRY(Json value, remove(from));
  // Measuring what moves, each time, would let a small patch take long. A bound will do: measure
  // only where the bound is over the limit.
  if (path.size() > from.size()) depth_ += path.size() - from.size();
  size_t value_depth = 0;
  if (depth_ > depth_limit_) {
    depth_ = depth_of(document_);
    value_depth = depth_of(value);
  }
  return add(path, std::move(value), value_depth);
}

Result<void> Patcher::copy(const JsonPointer& from, const JsonPointer& path) {
  LOCKSTEP_TRY(const Json* source, follow_pointer(document_, from, from.size()));
  if (!spend(*source, copy_budget_)) {
    return fail(ErrorKind::too_large, "the patch copies too much");
  }
  Json value = *source;
  const size_t value_depth = depth_of(value);
  return add(path, std::move(value), value_depth);
}

Result<void> Patcher::test(const JsonPointer& path, const Json& value) {
  Result<Json*> found = follow_pointer(document_, path, path.size());
  if (!found) {
    // Kubernetes lets a test for null say "there is no such field".
    auto parent = follow_pointer(document_, path, path.size() - 1);
    if (value.is_null() && parent && (*parent)->is_object()) return {};
    return fail(std::move(found).error());
  }
  if (json_equal(**found, value)) return {};
  constexpr size_t shown = 200;
  return failf(ErrorKind::invalid, "the test failed: the value is {:.{}}", print_json(**found),
               shown);
}

// Which operation failed: patch[2] remove "/spec/taints".
Error named(size_t index, const Json& operation, Error error) {
  error.message = fmt::format("patch[{}] {} \"{}\": {}", index, text_at(operation, "op"),
                              text_at(operation, "path"), error.message);
  return error;
}

}  // namespace

Result<void> apply_json_patch(Json& document, const Json& patch, const JsonPatchLimits& limits) {
  const JsonArray* operations = patch.if_array();
  if (operations == nullptr) {
    return fail(ErrorKind::invalid, "a JSON patch is a list of operations");
  }
  if (operations->size() > limits.operations) {
    return failf(ErrorKind::too_large, "the patch has {} operations; at most {} are allowed",
                 operations->size(), limits.operations);
  }
  Patcher patcher(document, limits);
  for (size_t i = 0; i < operations->size(); ++i) {
    const Json& operation = (*operations)[i];
    if (!operation.is_object()) {
      return failf(ErrorKind::invalid, "patch[{}] is not an object", i);
    }
    Result<void> result = patcher.apply(operation.get_object());
    if (!result) return fail(named(i, operation, std::move(result).error()));
  }
  document = patcher.take();
  return {};
}

}  // namespace lockstep
