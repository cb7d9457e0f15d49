// make_merge_patch(a, b) turns a into b, except for nulls that no merge patch can set; a merge
// patch applied twice is the same as once; deep_merge agrees with it where there are no nulls.
#include "data/patch.h"
#include "document_from_bytes.h"

namespace {

using namespace lockstep;

constexpr std::array<std::string_view, 4> words = {"a", "b", "c", "d"};

// Null fields of objects, outside of lists.
void drop_null_fields(Json& value) {
  JsonObject* object = value.if_object();
  if (object == nullptr) return;
  JsonObject kept;
  for (auto& [key, child] : *object) {
    drop_null_fields(child);
    if (!child.is_null()) kept.emplace(key, child);
  }
  *object = kept;
}

Json patched(Json document, const Json& patch) {
  apply_merge_patch(document, patch);
  return document;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Bytes bytes(data, size);
  const Json before = fuzz::document_from(bytes, words);
  const Json any = fuzz::document_from(bytes, words);
  Json after = any;
  drop_null_fields(after);

  const Json patch = make_merge_patch(before, after);
  fuzz::require(json_equal(patched(before, patch), after), "the patch leads from before to after");
  fuzz::require(json_equal(make_merge_patch(before, before),
                           before.is_object() ? Json(JsonObject()) : before),
                "no difference, empty patch");

  const Json once = patched(before, any);
  fuzz::require(json_equal(patched(once, any), once), "twice is once");

  Json merged = before;
  deep_merge(merged, after);
  fuzz::require(json_equal(merged, patched(before, after)), "deep_merge is a patch without nulls");
  return 0;
}
