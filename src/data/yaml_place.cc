#include "data/yaml_place.h"

#include "base/strings.h"
#include "data/yaml.h"
#include "data/yaml_read.h"
#include "data/yaml_tree.h"

namespace lockstep {

namespace {

using yaml::Node;
using yaml::NodeKind;
using yaml::Tree;

struct Found {
  const Node* key = nullptr;  // the item itself in a list
  const Node* value = nullptr;
};

const Node& behind_alias(const Tree& tree, const Node& node) {
  return node.kind == NodeKind::alias ? tree.nodes[node.target] : node;
}

Found find_key(const Tree& tree, const Node& mapping, const std::string& name) {
  Found merged;
  for (size_t i = 0; i + 1 < mapping.children.size(); i += 2) {
    const Node& key = tree.nodes[mapping.children[i]];
    const Node& value = behind_alias(tree, tree.nodes[mapping.children[i + 1]]);
    if (yaml::is_merge_key(tree, key)) {
      if (value.kind == NodeKind::mapping) merged = find_key(tree, value, name);
      continue;
    }
    auto text = yaml::key_text(tree, key, {});
    if (text && *text == name) return {&key, &value};
  }
  return merged;
}

Found find_step(const Tree& tree, const Node& node, const std::string& step) {
  if (node.kind == NodeKind::mapping) return find_key(tree, node, step);
  if (node.kind != NodeKind::sequence) return {};
  auto index = parse_unsigned(step);
  if (!index || *index >= node.children.size()) return {};
  const Node& item = tree.nodes[node.children[*index]];
  return {&item, &behind_alias(tree, item)};
}

// As far as the path goes; `whole` says whether to its end.
Found walk(const Tree& tree, const YamlPath& path, bool& whole) {
  Found at{&tree.root(), &behind_alias(tree, tree.root())};
  for (const std::string& step : path) {
    Found next = find_step(tree, *at.value, step);
    if (next.key == nullptr) {
      whole = false;
      return at;
    }
    at = next;
  }
  whole = true;
  return at;
}

const Tree* first_document(const std::vector<Tree>& trees) {
  for (const Tree& tree : trees) {
    if (!tree.is_empty()) return &tree;
  }
  return nullptr;
}

}  // namespace

Result<YamlFile> YamlFile::parse(std::string name, std::string text) {
  YamlFile file{std::make_shared<SourceText>(SourceText{std::move(name), std::move(text)}), {}};
  LOCKSTEP_TRY(file.json, parse_yaml(file.text(), file.name()));
  return file;
}

Result<YamlFile> YamlFile::from_json(std::string name, std::string text, std::string_view json) {
  YamlFile file{std::make_shared<SourceText>(SourceText{std::move(name), std::move(text)}), {}};
  LOCKSTEP_TRY(file.json, parse_json(json));
  return file;
}

std::string place_of(std::string_view text, std::string_view name, const YamlPath& path) {
  auto trees = yaml::compose(text, name, {});
  const Tree* tree = trees ? first_document(*trees) : nullptr;
  if (tree == nullptr) return std::string(name);
  bool whole = false;
  return yaml::place(name, walk(*tree, path, whole).key->start);
}

std::optional<std::string> scalar_text(std::string_view text, const YamlPath& path) {
  auto trees = yaml::compose(text, {}, {});
  const Tree* tree = trees ? first_document(*trees) : nullptr;
  if (tree == nullptr) return std::nullopt;
  bool whole = false;
  Found found = walk(*tree, path, whole);
  if (!whole || found.value->kind != NodeKind::scalar) return std::nullopt;
  return found.value->text;
}

std::string Place::text() const {
  return source_ ? place_of(source_->text, source_->name, path_) : known_;
}

}  // namespace lockstep
