#include "rollout/matrix_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/yaml.h"
#include "data/yaml_read.h"
#include "data/yaml_tree.h"

namespace lockstep::rollout {

namespace {

using YamlNode = yaml::Node;
using yaml::NodeKind;
using yaml::ScalarStyle;
using yaml::Tree;

constexpr std::string_view format_hint =
    "the format is versions.current and versions.canary, each a map of versions";

// Texts of one document, before any of them has a type.
class Reader {
 public:
  Reader(const Tree& tree, std::string_view name) : tree_(tree), name_(name) {}

  Result<Matrix> read() const {
    Matrix matrix;
    LOCKSTEP_TRY(const YamlNode* versions, child(tree_.root(), "versions"));
    if (versions == nullptr || versions->kind != NodeKind::mapping) {
      return refuse(versions == nullptr ? tree_.root() : *versions,
                    fmt::format("the map \"versions\" is missing: {}", format_hint));
    }
    LOCKSTEP_TRY(const YamlNode* current, child(*versions, "current"));
    if (current == nullptr || current->kind != NodeKind::mapping) {
      return refuse(current == nullptr ? *versions : *current,
                    fmt::format("the map \"versions.current\" is missing: {}", format_hint));
    }
    LOCKSTEP_TRY(matrix.current, entries(*current));
    LOCKSTEP_TRY(const YamlNode* canary, child(*versions, "canary"));
    if (canary != nullptr && !is_null(*canary)) {
      if (canary->kind != NodeKind::mapping) {
        return refuse(*canary, fmt::format("versions.canary must be a map: {}", format_hint));
      }
      LOCKSTEP_TRY(matrix.canary, entries(*canary));
    }
    LOCKSTEP_TRY(const YamlNode* gpus, child(tree_.root(), "gpus"));
    if (gpus != nullptr) {
      LOCKSTEP_TRY(matrix.gpus, texts(*gpus));
    }
    return matrix;
  }

 private:
  const YamlNode& resolve(const YamlNode& node) const {
    return node.kind == NodeKind::alias ? tree_.nodes[node.target] : node;
  }

  static bool is_null(const YamlNode& node) {
    return node.kind == NodeKind::scalar && node.style == ScalarStyle::plain &&
           (node.text.empty() || node.text == "~" || lower(node.text) == "null");
  }

  Result<const YamlNode*> child(const YamlNode& node, std::string_view wanted) const {
    if (node.kind != NodeKind::mapping) return static_cast<const YamlNode*>(nullptr);
    for (size_t index = 0; index + 1 < node.children.size(); index += 2) {
      const YamlNode& key = tree_.nodes[node.children[index]];
      LOCKSTEP_CHECK(check_plain(key));
      LOCKSTEP_TRY(const std::string text, yaml::key_text(tree_, key, name_));
      if (text == wanted) return &resolve(tree_.nodes[node.children[index + 1]]);
    }
    return static_cast<const YamlNode*>(nullptr);
  }

  Result<void> check_plain(const YamlNode& key) const {
    if (!yaml::is_merge_key(tree_, key)) return {};
    return refuse(key, "\"<<\" hides where a version is set: write the values out");
  }

  Result<MatrixEntries> entries(const YamlNode& map) const {
    MatrixEntries found;
    for (size_t index = 0; index + 1 < map.children.size(); index += 2) {
      const YamlNode& key = tree_.nodes[map.children[index]];
      LOCKSTEP_CHECK(check_plain(key));
      LOCKSTEP_TRY(std::string text, yaml::key_text(tree_, key, name_));
      const YamlNode& value = resolve(tree_.nodes[map.children[index + 1]]);
      if (value.kind == NodeKind::scalar) {
        found.emplace_back(std::move(text), is_null(value) ? std::string() : value.text);
        continue;
      }
      const auto& keys = matrix_keys();
      if (std::find(keys.begin(), keys.end(), text) != keys.end()) {
        return refuse(value, fmt::format("{} must be a single value", text));
      }
    }
    return found;
  }

  Result<std::vector<std::string>> texts(const YamlNode& list) const {
    std::vector<std::string> found;
    if (is_null(list)) return found;
    if (list.kind != NodeKind::sequence) {
      return refuse(list, "gpus must be a list of models: [H100, B200]");
    }
    for (const yaml::NodeId id : list.children) {
      const YamlNode& item = resolve(tree_.nodes[id]);
      if (item.kind != NodeKind::scalar) return refuse(item, "a model must be a single value");
      found.push_back(item.text);
    }
    return found;
  }

  Unexpected refuse(const YamlNode& node, std::string message) const {
    return fail(ErrorKind::invalid, std::move(message), yaml::place(name_, node.start));
  }

  const Tree& tree_;
  std::string_view name_;
};

const std::string* find_entry(const MatrixEntries& entries, std::string_view key) {
  for (const auto& [name, value] : entries) {
    if (name == key) return &value;
  }
  return nullptr;
}

}  // namespace

std::string_view to_string(Slot slot) { return slot == Slot::current ? "current" : "canary"; }

const std::vector<std::string>& matrix_keys() {
  static const std::vector<std::string> keys = {
      "gpu_operator", "network_operator", "driver", "cuda", "firmware",
      "sriov",        "openshift",        "status"};
  return keys;
}

std::string_view Matrix::value(Slot which, std::string_view key) const {
  const std::string* found = find_entry(slot(which), key);
  return found == nullptr ? std::string_view() : *found;
}

bool Matrix::has(Slot which, std::string_view key) const {
  return find_entry(slot(which), key) != nullptr;
}

bool Matrix::is_empty(Slot which) const {
  const MatrixEntries& entries = slot(which);
  return std::all_of(entries.begin(), entries.end(),
                     [](const auto& entry) { return entry.second.empty(); });
}

std::vector<std::string> Matrix::keys() const {
  std::vector<std::string> keys;
  auto add = [&](const std::string& key) {
    const bool is_used = has(Slot::current, key) || has(Slot::canary, key);
    if (is_used && std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  };
  for (const std::string& key : matrix_keys()) add(key);
  for (const Slot which : {Slot::current, Slot::canary}) {
    for (const auto& [key, value] : slot(which)) add(key);
  }
  return keys;
}

Result<Matrix> parse_matrix(std::string_view text, std::string_view name) {
  const YamlLimits limits;
  // Refuses a duplicate key, a second document, and everything else that is ambiguous.
  LOCKSTEP_TRY(const Json value, parse_yaml(text, name, limits));
  if (!value.is_object()) {
    return fail(ErrorKind::invalid, fmt::format("must be a map: {}", format_hint),
                std::string(name));
  }
  LOCKSTEP_TRY(const auto trees, yaml::compose(text, name, limits));
  for (const Tree& tree : trees) {
    if (!tree.is_empty()) return Reader(tree, name).read();
  }
  return fail(ErrorKind::invalid, fmt::format("it is empty: {}", format_hint), std::string(name));
}

std::vector<MatrixChange> changes_between(const Matrix& before, const Matrix& after) {
  std::vector<MatrixChange> changes;
  for (const Slot slot : {Slot::current, Slot::canary}) {
    for (const auto& [key, value] : after.slot(slot)) {
      if (before.value(slot, key) == value) continue;
      changes.push_back({slot, key, std::string(before.value(slot, key)), value});
    }
    for (const auto& [key, value] : before.slot(slot)) {
      if (!after.has(slot, key) && !value.empty()) changes.push_back({slot, key, value, ""});
    }
  }
  return changes;
}

}  // namespace lockstep::rollout
