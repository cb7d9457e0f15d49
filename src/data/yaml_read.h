// From a tree of YAML nodes to JSON. Shared with code that works on the tree; others include
// data/yaml.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json.h"
#include "data/yaml_tree.h"

namespace lockstep::yaml {

// One value per tree, null for an empty one. The limits hold for all of them together.
Result<std::vector<Json>> to_json(const std::vector<Tree>& trees, std::string_view name,
                                  const YamlLimits& limits);

// The name that a mapping's key has in JSON. Fails for keys that JSON lacks: null, lists, maps.
Result<std::string> key_text(const Tree& tree, const Node& key, std::string_view name);

// The key "<<", unquoted: its value's keys belong to the mapping around it.
bool is_merge_key(const Tree& tree, const Node& key);

}  // namespace lockstep::yaml
