// YAML as Helm and kubectl read it (YAML 1.1 through sigs.k8s.io/yaml, which is go-yaml version 2),
// into JSON values.
//
// Where Helm would silently take one of two meanings, we refuse with an error: a key twice in a
// map, a second document where one is expected, two "<<" in a map, a key before "<<" that the merge
// would override (go-yaml 2 takes the merged value, the YAML specification the explicit one).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json.h"

namespace lockstep {

// Passing one is an error of the kind too_large.
struct YamlLimits {
  size_t depth = 100;
  size_t bytes = 16 << 20;       // of the text, and again of what aliases repeat
  size_t nodes = 2'000'000;      // after aliases are expanded: a "billion laughs" ends here
  size_t merged_keys = 200'000;  // that "<<" copies: a chain of merges costs the cube of its length
};

// One document. `name` (a file's name) begins the error's place: "values.yaml:12:3". Empty text is
// null.
Result<Json> parse_yaml(std::string_view text, std::string_view name = {},
                        const YamlLimits& limits = {});
// All documents of a stream; empty ones are left out.
Result<std::vector<Json>> parse_yaml_stream(std::string_view text, std::string_view name = {},
                                            const YamlLimits& limits = {});

// What a plain (unquoted) scalar is, as Helm reads it: "on" true, "017" 15, "1_000" 1000. Fails for
// .inf and .nan, which JSON lacks.
Result<Json> resolve_yaml_scalar(std::string_view plain);

// Block style, two spaces; strings are quoted whenever Helm, or any reader of YAML 1.1 or 1.2,
// would take them for anything else. Reads back as the same value, but for what JSON lacks: bytes
// that are not UTF-8 become U+FFFD, and an infinite number becomes .inf.
std::string print_yaml(const Json& value);
std::string print_yaml_stream(const std::vector<Json>& documents);

// Changes one scalar in a YAML text and not a byte besides: comments, order, line ends and quoting
// of the rest stay, and the scalar keeps its quotes where the new value allows. `path` names keys
// and list indexes; in a stream the first document that has the path is edited. The scalar must
// exist: not_found otherwise. A value that an anchor shares with others is refused. The result is
// read again before it is returned, and differs from the old document in this value only.
Result<std::string> edit_yaml_scalar(std::string_view text, const std::vector<std::string>& path,
                                     const Json& value, std::string_view name = {});

}  // namespace lockstep
