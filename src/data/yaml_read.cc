#include "data/yaml_read.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "data/yaml.h"
#include "data/yaml_scalar.h"

namespace lockstep::yaml {

namespace {

Result<Scalar> resolve(const Tree& tree, const Node& node) {
  const std::string& tag = tree.properties_of(node).tag;
  if (!tag.empty()) return resolve_tagged(tag, node.text);
  if (node.style == ScalarStyle::plain) return resolve_plain(node.text);
  return Scalar(node.text);
}

Unexpected refuse(std::string_view name, const Node& node, std::string message) {
  return fail(ErrorKind::invalid, std::move(message), place(name, node.start));
}

std::string_view view(const std::string_view& text) { return {text.data(), text.size()}; }

// Converts one tree. Aliases are expanded by converting their target again, and each "<<" copies
// the keys of its map, so the budgets of nodes, bytes and merged keys bound the time and the memory
// that any text can cost.
class Converter {
 public:
  Converter(std::string_view name, const YamlLimits& limits) : name_(name), limits_(limits) {}

  Result<Json> run(const Tree& tree) {
    tree_ = &tree;
    is_open_.assign(tree.nodes.size(), false);
    return convert(tree.root(), 0);
  }

 private:
  // `depth` counts the containers around the node, those that aliases bring included. It is the
  // bound on this recursion.
  Result<Json> convert(const Node& node, size_t depth) {
    if (++node_count_ > limits_.nodes) {
      return fail(ErrorKind::too_large,
                  fmt::format("more than {} values once aliases are expanded; use fewer aliases",
                              limits_.nodes),
                  place(name_, node.start));
    }
    switch (node.kind) {
      case NodeKind::scalar:
        return convert_scalar(node);
      case NodeKind::alias:
        return convert_alias(node, depth);
      case NodeKind::sequence:
      case NodeKind::mapping:
        break;
    }
    if (depth >= limits_.depth) {
      return fail(ErrorKind::too_large,
                  fmt::format("nested deeper than {} levels once aliases are expanded; flatten the "
                              "document",
                              limits_.depth),
                  place(name_, node.start));
    }
    return node.kind == NodeKind::sequence ? convert_sequence(node, depth + 1)
                                           : convert_mapping(node, depth + 1);
  }

  Result<Json> convert_scalar(const Node& node) {
    LOCKSTEP_CHECK(count_bytes(node));
    auto scalar = resolve(*tree_, node);
    if (!scalar) return refuse(name_, node, scalar.error().message);
    auto value = yaml::to_json(*scalar);
    if (!value) return refuse(name_, node, value.error().message);
    return value;
  }

  // Text that aliases repeat; without aliases the size of the file is the bound.
  Result<void> count_bytes(const Node& node) {
    return alias_depth_ == 0 ? Result<void>() : count_repeated(node.text.size(), node);
  }

  // A key may be an alias itself.
  Result<void> count_key_bytes(const Node& key) {
    if (key.kind != NodeKind::alias) return count_bytes(key);
    return count_repeated(tree_->nodes[key.target].text.size(), key);
  }

  Result<void> count_repeated(size_t bytes, const Node& node) {
    repeated_bytes_ += bytes;
    if (repeated_bytes_ <= limits_.bytes) return {};
    return fail(
        ErrorKind::too_large,
        fmt::format("aliases repeat more than {} bytes of text; use fewer aliases", limits_.bytes),
        place(name_, node.start));
  }

  // A chain of maps, each of which merges the one before, copies the first keys once for each map.
  Result<void> count_merged(std::string_view key, const Node& source) {
    if (++merged_keys_ > limits_.merged_keys) {
      return fail(ErrorKind::too_large,
                  fmt::format("<< copies more than {} keys; merge fewer or smaller maps",
                              limits_.merged_keys),
                  place(name_, source.start));
    }
    return count_repeated(key.size(), source);
  }

  Result<Json> convert_alias(const Node& node, size_t depth) {
    if (is_open_[node.target]) {
      return refuse(
          name_, node,
          fmt::format("the anchor &{} contains itself through this alias; remove one", node.text));
    }
    ++alias_depth_;
    auto value = convert(tree_->nodes[node.target], depth);
    --alias_depth_;
    return value;
  }

  Result<Json> convert_sequence(const Node& node, size_t depth) {
    JsonArray array;
    array.reserve(node.children.size());
    const OpenGuard guard(*this, node);
    for (const NodeId child : node.children) {
      LOCKSTEP_TRY(Json value, convert(tree_->nodes[child], depth));
      array.push_back(std::move(value));
    }
    return Json(std::move(array));
  }

  Result<Json> convert_mapping(const Node& node, size_t depth) {
    Mapping mapping{node, {}, {}, nullptr};
    const OpenGuard guard(*this, node);
    for (size_t index = 0; index + 1 < node.children.size(); index += 2) {
      const Node& key = tree_->nodes[node.children[index]];
      const Node& value = tree_->nodes[node.children[index + 1]];
      if (is_merge_key(*tree_, key)) {
        LOCKSTEP_CHECK(merge(mapping, key, value, depth));
      } else {
        LOCKSTEP_CHECK(add(mapping, key, value, depth));
      }
    }
    return Json(std::move(mapping.object));
  }

  struct Mapping {
    const Node& node;
    JsonObject object;
    std::set<std::string, std::less<>> merged;  // the keys that came from "<<"
    const Node* merge_key;
  };

  Result<void> add(Mapping& mapping, const Node& key, const Node& value, size_t depth) {
    ++node_count_;
    LOCKSTEP_CHECK(count_key_bytes(key));
    LOCKSTEP_TRY(std::string text, key_text(*tree_, key, name_));
    const auto merged = mapping.merged.find(text);
    if (mapping.object.contains(text) && merged == mapping.merged.end()) {
      return refuse(name_, key,
                    fmt::format("the key \"{}\" is here for the second time, first at line {}; "
                                "remove one",
                                text, first_line(mapping.node, text)));
    }
    if (merged != mapping.merged.end()) mapping.merged.erase(merged);
    LOCKSTEP_TRY(mapping.object[text], convert(value, depth));
    return {};
  }

  size_t first_line(const Node& mapping, std::string_view wanted) const {
    for (size_t index = 0; index < mapping.children.size(); index += 2) {
      const Node& key = tree_->nodes[mapping.children[index]];
      if (is_merge_key(*tree_, key)) continue;
      const auto text = key_text(*tree_, key, name_);
      if (text && *text == wanted) return key.start.line + 1;
    }
    return mapping.start.line + 1;
  }

  Result<void> merge(Mapping& mapping, const Node& key, const Node& value, size_t depth) {
    if (mapping.merge_key != nullptr) {
      return refuse(
          name_, key,
          fmt::format("<< is here for the second time, first at line {}; write one with a "
                      "list: <<: [*first, *second]",
                      mapping.merge_key->start.line + 1));
    }
    mapping.merge_key = &key;
    if (value.kind != NodeKind::sequence) return merge_one(mapping, value, depth);
    const OpenGuard guard(*this, value);
    for (const NodeId child : value.children) {
      LOCKSTEP_CHECK(merge_one(mapping, tree_->nodes[child], depth));
    }
    return {};
  }

  Result<void> merge_one(Mapping& mapping, const Node& source, size_t depth) {
    const bool is_alias = source.kind == NodeKind::alias;
    const Node& target = is_alias ? tree_->nodes[source.target] : source;
    if (target.kind != NodeKind::mapping) {
      return refuse(name_, source, "<< needs a map, an alias of a map, or a list of these");
    }
    // The merged keys belong to this mapping, not to one below it.
    LOCKSTEP_TRY(Json merged, convert(source, depth - 1));
    for (auto& [json_key, json_value] : merged.get_object()) {
      const std::string_view key = view(json_key);
      LOCKSTEP_CHECK(count_merged(key, source));
      if (mapping.merged.contains(key)) continue;  // the first in a list of maps wins
      if (const Json* own = find(mapping.object, key)) {
        if (json_equal(*own, json_value)) continue;
        return refuse(name_, *mapping.merge_key,
                      fmt::format("the key \"{}\" at line {} is before <<, which adds it again "
                                  "value: YAML takes the former, Helm the latter; move << to the "
                                  "top of the map",
                                  key, first_line(mapping.node, key)));
      }
      mapping.object[json_key] = std::move(json_value);
      mapping.merged.emplace(key);
    }
    return {};
  }

  // Marks a container as being converted, to catch an alias inside it that names it.
  class OpenGuard {
   public:
    OpenGuard(Converter& converter, const Node& node)
        : converter_(converter),
          id_(static_cast<NodeId>(&node - converter.tree_->nodes.data())),
          was_open_(converter.is_open_[id_]) {
      converter_.is_open_[id_] = true;
    }
    ~OpenGuard() { converter_.is_open_[id_] = was_open_; }
    OpenGuard(const OpenGuard&) = delete;
    OpenGuard& operator=(const OpenGuard&) = delete;

   private:
    Converter& converter_;
    NodeId id_;
    bool was_open_;
  };

  std::string_view name_;
  const YamlLimits& limits_;
  const Tree* tree_ = nullptr;
  std::vector<bool> is_open_;
  size_t node_count_ = 0;
  size_t repeated_bytes_ = 0;
  size_t merged_keys_ = 0;
  size_t alias_depth_ = 0;
};

}  // namespace

Result<std::vector<Json>> to_json(const std::vector<Tree>& trees, std::string_view name,
                                  const YamlLimits& limits) {
  Converter converter(name, limits);
  std::vector<Json> values;
  for (const Tree& tree : trees) {
    LOCKSTEP_TRY(values.emplace_back(), converter.run(tree));
  }
  return values;
}

Result<std::string> key_text(const Tree& tree, const Node& key, std::string_view name) {
  const Node& node = key.kind == NodeKind::alias ? tree.nodes[key.target] : key;
  if (node.kind != NodeKind::scalar) {
    return refuse(name, key,
                  "a key cannot be a list or a map; quote it to mean the text (a template's {{ }} "
                  "needs quotes as well)");
  }
  auto scalar = resolve(tree, node);
  if (!scalar) return refuse(name, key, scalar.error().message);
  auto text = to_key(*scalar);
  if (!text) return refuse(name, key, text.error().message);
  return text;
}

bool is_merge_key(const Tree& tree, const Node& key) {
  if (key.kind != NodeKind::scalar || key.text != "<<") return false;
  const std::string& tag = tree.properties_of(key).tag;
  if (tag.empty()) return key.style == ScalarStyle::plain;
  return tag == "tag:yaml.org,2002:merge";
}

}  // namespace lockstep::yaml

namespace lockstep {

Result<Json> parse_yaml(std::string_view text, std::string_view name, const YamlLimits& limits) {
  LOCKSTEP_TRY(const auto trees, yaml::compose(text, name, limits));
  // Helm would take the first and silently drop the rest.
  for (size_t index = 1; index < trees.size(); ++index) {
    if (trees[index].is_empty()) continue;
    return fail(ErrorKind::invalid,
                "a second document begins here, but one is expected; remove it or the \"---\"",
                yaml::place(name, trees[index].root().start));
  }
  LOCKSTEP_TRY(auto values, yaml::to_json(trees, name, limits));
  return values.empty() ? Json() : std::move(values.front());
}

Result<std::vector<Json>> parse_yaml_stream(std::string_view text, std::string_view name,
                                            const YamlLimits& limits) {
  LOCKSTEP_TRY(auto trees, yaml::compose(text, name, limits));
  std::erase_if(trees, [](const yaml::Tree& tree) { return tree.is_empty(); });
  return yaml::to_json(trees, name, limits);
}

}  // namespace lockstep
