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

// RFC 6902, all six operations. All or nothing: on failure `document` is unchanged. The error names
// the operation by its index. A failed "test" has kind `invalid`.
Result<void> apply_json_patch(Json& document, const Json& patch);

// RFC 7386: null removes.
void apply_merge_patch(Json& document, const Json& patch);

// The merge patch that turns `before` into `after`.
Json make_merge_patch(const Json& before, const Json& after);

// How a list field merges under a strategic merge patch.
struct ListMerge {
  enum class Kind { atomic, by_key, set } kind = Kind::atomic;
  std::string key;             // for by_key: the field that tells items apart
  bool retain_keys = false;    // for objects that say patchStrategy=retainKeys
};

// What a strategic merge patch must know about a type. Paths are field names joined by '.', without
// indexes: "spec.template.spec.containers.env".
class MergeSchema {
 public:
  virtual ~MergeSchema() = default;
  virtual ListMerge at(std::string_view path) const = 0;
};

// Kubernetes' strategic merge patch: lists by key, $patch: delete|replace|merge, $deleteFromPrimitiveList,
// $setElementOrder, $retainKeys.
Result<void> apply_strategic_patch(Json& document, const Json& patch, const MergeSchema& schema);

}  // namespace lockstep
