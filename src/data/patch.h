// The three patches that Kubernetes takes besides server-side apply.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json.h"

namespace lockstep {

// A small patch must not make a large document out of nothing, nor a deep one.
struct JsonPatchLimits {
  size_t operations = 10'000;
  size_t copied_bytes = 3 << 20;  // by all "copy" operations together
  size_t depth = JsonLimits{}.depth;
};

// RFC 6902, all six operations. All or nothing: on failure `document` is unchanged. The error names
// the operation by its index (from zero) and its path. A failed "test", and a path that does not
// exist, has kind `invalid`; kind `too_large` is a limit. Beyond the RFC, as Kubernetes: a "test"
// for null also succeeds when the object has no such field.
Result<void> apply_json_patch(Json& document, const Json& patch,
                              const JsonPatchLimits& limits = {});

// RFC 7386: null removes.
void apply_merge_patch(Json& document, const Json& patch);

// The merge patch that turns `before` into `after`. A merge patch cannot say "set to null": a null
// field that is new in `after` comes out missing, unless it is inside of a list.
Json make_merge_patch(const Json& before, const Json& after);

// How a list field merges under a strategic merge patch.
struct ListMerge {
  enum class Kind { atomic, by_key, set } kind = Kind::atomic;
  std::string key;           // for by_key: the field that identifies items
  bool retain_keys = false;  // for objects that say patchStrategy=retainKeys
};

// What a strategic merge patch must know about a type. Paths are field names joined by '.', without
// indexes: "spec.template.spec.containers.env".
class MergeSchema {
 public:
  virtual ~MergeSchema() = default;
  virtual ListMerge at(std::string_view path) const = 0;
};

// Kubernetes' strategic merge patch: lists by key, $patch: delete|replace,
// $deleteFromPrimitiveList, $setElementOrder, $retainKeys. All or nothing. What the patch brings in
// comes without its nulls and directives, as it would after Kubernetes has decoded it into its
// type.
Result<void> apply_strategic_patch(Json& document, const Json& patch, const MergeSchema& schema);
// The same as a new document, which shares with the old what the patch does not touch.
Result<Json> strategically_patched(const Json& document, const Json& patch,
                                   const MergeSchema& schema);

}  // namespace lockstep
