// The part of JSONPath that printer columns use, as Kubernetes reads it: .spec.foo, ['a.b'], \. for
// a dot in a name, [0], [-1], [1:3], [*], ..name, [?(@.type=="Ready")].
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json.h"

namespace lockstep::apiserver {

struct JsonPathStep;

class JsonPath {
 public:
  static Result<JsonPath> parse(std::string_view text);

  JsonPath(JsonPath&&) noexcept;
  JsonPath& operator=(JsonPath&&) noexcept;
  JsonPath(const JsonPath&) = delete;
  ~JsonPath();

  // The values at the path, in order. Empty if nothing matches, if the document has another shape
  // than the path expects, or if the search is too long: each ".." and "[*]" multiplies the visited
  // values.
  std::vector<const Json*> find_all(const Json& document) const;

 private:
  JsonPath();
  static constexpr size_t most_values = 50'000;
  std::vector<JsonPathStep> steps_;
};

}  // namespace lockstep::apiserver
