// A YAML document as libyaml sees it: nodes with their places, before any of them has a JSON type.
// The reader turns it into JSON. The editor and error messages use it to find places.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/yaml.h"
#include "data/yaml_text.h"

namespace lockstep::yaml {

using NodeId = uint32_t;

enum class NodeKind : uint8_t { scalar, sequence, mapping, alias };
enum class ScalarStyle : uint8_t { plain, single_quoted, double_quoted, block };

struct Node {
  NodeKind kind = NodeKind::scalar;
  ScalarStyle style = ScalarStyle::plain;
  bool in_flow = false;     // inside [] or {}
  bool is_aliased = false;  // an alias names it
  NodeId target = 0;        // of an alias
  // Of a node with an anchor or a tag: an index into Tree::properties. Few nodes have any.
  uint32_t properties = 0;
  // From the first byte, properties included, to behind the last. A container ends where it begins.
  Mark start;
  Mark end;
  std::string text;              // a scalar's value; an alias' name
  std::vector<NodeId> children;  // of a mapping: key, value, key, value
};

struct Properties {
  std::string tag;  // "tag:yaml.org,2002:str"; "!" says "a string"
  std::string anchor;
};

// One document. Nodes refer to each other by index, so a deep one is freed without recursion.
struct Tree {
  std::vector<Node> nodes;  // the first is the root
  std::vector<Properties> properties = {Properties()};

  const Node& root() const { return nodes.front(); }
  const Properties& properties_of(const Node& node) const { return properties[node.properties]; }
  // A document of nothing but comments.
  bool is_empty() const;
};

// All documents of a stream, including empty ones.
Result<std::vector<Tree>> compose(std::string_view text, std::string_view name,
                                  const YamlLimits& limits);

// Behind "&anchor !tag ", for a node that begins at `offset`.
size_t skip_properties(std::string_view text, size_t offset);

}  // namespace lockstep::yaml
