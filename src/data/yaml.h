// YAML as Helm and kubectl read it (YAML 1.1 through Go's yaml.v2/sigs.k8s.io/yaml), into JSON
// values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json.h"

namespace lockstep {

struct YamlLimits {
  size_t depth = 100;
  size_t bytes = 16 << 20;
  size_t nodes = 2'000'000;  // after aliases are expanded: a "billion laughs" ends here
};

// One document. `name` (a file's name) begins the error's place: "values.yaml:12:3". Empty text is
// null.
Result<Json> parse_yaml(std::string_view text, std::string_view name = {},
                        const YamlLimits& limits = {});
// All documents of a stream; empty ones are left out.
Result<std::vector<Json>> parse_yaml_stream(std::string_view text, std::string_view name = {},
                                            const YamlLimits& limits = {});

// What a plain (unquoted) scalar is, by YAML 1.1 as Helm reads it: "on" true, "017" 15, "1_000"
// 1000.
Result<Json> resolve_yaml_scalar(std::string_view plain);

// Block style, two spaces; strings are quoted whenever Helm would read them as anything else.
std::string print_yaml(const Json& value);
std::string print_yaml_stream(const std::vector<Json>& documents);

// Changes one scalar in a YAML text and not a byte besides: comments, order and quoting of the rest
// stay. `path` names keys and list indexes. The scalar must exist.
Result<std::string> edit_yaml_scalar(std::string_view text, const std::vector<std::string>& path,
                                     const Json& value, std::string_view name = {});

}  // namespace lockstep
