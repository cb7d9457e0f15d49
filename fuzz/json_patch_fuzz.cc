// A JSON patch that fails leaves the document unchanged; one that succeeds keeps within the limits;
// what "add" has added, "test" finds, and "remove" takes away again.
#include "data/patch.h"
#include "document_from_bytes.h"

namespace {

using namespace lockstep;

constexpr std::array<std::string_view, 8> words = {"a", "b", "c", "0", "1", "-", "~", "/"};
constexpr std::array<std::string_view, 12> steps = {"/a", "/b",  "/c",  "/0", "/1", "/2",
                                                    "/-", "/~0", "/~1", "",   "/~", "x"};
constexpr std::array<std::string_view, 7> names = {"add",  "remove", "replace", "move",
                                                   "copy", "test",   "zap"};

std::string pointer_from(fuzz::Bytes& bytes) {
  std::string pointer;
  for (size_t count = bytes.below(4); count > 0; --count) pointer += bytes.one_of(steps);
  return pointer;
}

JsonArray patch_from(fuzz::Bytes& bytes) {
  JsonArray patch;
  for (size_t count = bytes.below(40); count > 0; --count) {
    JsonObject operation;
    operation["op"] = bytes.one_of(names);
    operation["path"] = pointer_from(bytes);
    operation["from"] = pointer_from(bytes);
    if (bytes.below(20) != 1) operation["value"] = fuzz::document_from(bytes, words, 2);
    patch.push_back(operation);
  }
  return patch;
}

JsonArray single(std::string_view name, std::string_view path, const Json& value) {
  return {JsonObject{{"op", name}, {"path", path}, {"value", value}}};
}

void check_add_test_remove(const Json& document, const std::string& path, const Json& value) {
  Json added = document;
  if (!apply_json_patch(added, single("add", path, value))) return;
  if (path.ends_with("/-")) return;  // names a place only for "add"
  fuzz::require(apply_json_patch(added, single("test", path, value)).has_value(), "test after add");
  if (path.empty()) return;
  fuzz::require(apply_json_patch(added, single("remove", path, value)).has_value(),
                "remove after add");
  Json before = document;
  if (!apply_json_patch(before, single("remove", path, value))) {
    fuzz::require(json_equal(added, document), "remove undoes the add of a new field");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Bytes bytes(data, size);
  Json document = fuzz::document_from(bytes, words);
  const Json before = document;
  check_add_test_remove(document, pointer_from(bytes), fuzz::document_from(bytes, words, 2));

  const JsonPatchLimits limits{.operations = 100, .copied_bytes = 2000, .depth = 16};
  const Json patch = patch_from(bytes);
  const Result<void> result = apply_json_patch(document, patch, limits);
  const std::string printed = print_json(document);
  if (!result) {
    fuzz::require(printed == print_json(before), "a patch that fails changes nothing");
  } else {
    fuzz::require(parse_json(printed, {.depth = 16}).has_value(), "no deeper than the limit");
  }
  return 0;
}
