#include "rollout/matrix_edit.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/yaml.h"
#include "data/yaml_read.h"
#include "data/yaml_tree.h"

namespace lockstep::rollout {

namespace {

using YamlNode = yaml::Node;
using yaml::NodeKind;
using yaml::Tree;

constexpr std::string_view status_key = "status";

// Where lines can be inserted, and their form there.
struct Gap {
  size_t offset = 0;  // behind a line, before its line break
  size_t indentation = 0;
};

const YamlNode* child_of(const Tree& tree, const YamlNode& node, std::string_view wanted) {
  if (node.kind != NodeKind::mapping) return nullptr;
  for (size_t index = 0; index + 1 < node.children.size(); index += 2) {
    if (tree.nodes[node.children[index]].text == wanted) {
      return &tree.nodes[node.children[index + 1]];
    }
  }
  return nullptr;
}

const YamlNode* key_of(const Tree& tree, const YamlNode& map, std::string_view wanted) {
  for (size_t index = 0; index + 1 < map.children.size(); index += 2) {
    const YamlNode& key = tree.nodes[map.children[index]];
    if (key.text == wanted) return &key;
  }
  return nullptr;
}

// Behind the last byte of a node and all that is in it.
size_t end_of(const Tree& tree, const YamlNode& node) {
  size_t end = node.end.offset;
  for (const yaml::NodeId id : node.children) end = std::max(end, end_of(tree, tree.nodes[id]));
  return end;
}

size_t line_end(std::string_view text, size_t from) {
  return std::min(text.find_first_of("\r\n", from), text.size());
}

std::string quoted(const std::string& value) { return print_json(Json(value)); }

// A string with the changes made so far.
class Editor {
 public:
  Editor(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Result<void> write(Slot slot, const std::string& key, const std::string& value) {
    LOCKSTEP_TRY(const Matrix matrix, parse_matrix(text_, name_));
    const std::string before(matrix.value(slot, key));
    if (before == value) return {};
    if (matrix.has(slot, key)) {
      LOCKSTEP_TRY(text_, edit_yaml_scalar(text_, {"versions", std::string(to_string(slot)), key},
                                           Json(value), name_));
    } else {
      LOCKSTEP_CHECK(insert(slot, key, value));
    }
    return {};
  }

  const std::string& text() const { return text_; }

 private:
  // A key that is not there yet gets a line behind the last one of its slot.
  Result<void> insert(Slot slot, const std::string& key, const std::string& value) {
    LOCKSTEP_TRY(const auto trees, yaml::compose(text_, name_, {}));
    const auto tree = std::find_if(trees.begin(), trees.end(),
                                   [](const Tree& candidate) { return !candidate.is_empty(); });
    const YamlNode& versions = *child_of(*tree, tree->root(), "versions");
    const YamlNode* map = child_of(*tree, versions, to_string(slot));
    std::string edited;
    if (map != nullptr && map->kind == NodeKind::mapping && !map->children.empty()) {
      if (map->in_flow) return refuse(slot, key);
      edited = with_lines(gap_behind(*tree, *map), {key + ": " + quoted(value)});
    } else {
      const std::optional<std::string> begun = begin_slot(*tree, versions, slot, key, value);
      if (!begun) return refuse(slot, key);
      edited = *begun;
    }
    // Only what was asked for, or nothing.
    LOCKSTEP_TRY(Json expected, parse_yaml(text_, name_));
    JsonObject& slots = ensure_object(expected.as_object(), "versions");
    ensure_object(slots, to_string(slot))[key] = value;
    const auto read = parse_yaml(edited, name_);
    if (!read || !json_equal(*read, expected)) return refuse(slot, key);
    text_ = std::move(edited);
    return {};
  }

  // "canary:" with its first key, where it is missing or empty.
  std::optional<std::string> begin_slot(const Tree& tree, const YamlNode& versions, Slot slot,
                                        const std::string& key, const std::string& value) const {
    const YamlNode* current = child_of(tree, versions, "current");
    if (versions.in_flow || current == nullptr || current->in_flow || current->children.empty()) {
      return std::nullopt;
    }
    const size_t outer = key_of(tree, versions, "current")->start.column;
    const size_t inner = tree.nodes[current->children.front()].start.column;
    const std::string line = std::string(inner - outer, ' ') + key + ": " + quoted(value);
    const YamlNode* empty = key_of(tree, versions, to_string(slot));
    if (empty == nullptr) {
      return with_lines(gap_behind(tree, versions), {fmt::format("{}:", to_string(slot)), line});
    }
    const YamlNode& nothing = *child_of(tree, versions, to_string(slot));
    if (nothing.kind != NodeKind::scalar || !nothing.text.empty()) return std::nullopt;
    return with_lines({line_end(text_, empty->end.offset), outer}, {line});
  }

  Gap gap_behind(const Tree& tree, const YamlNode& map) const {
    const size_t last = text_.find_last_not_of(" \t\r\n", end_of(tree, map) - 1);
    return {line_end(text_, last), tree.nodes[map.children.front()].start.column};
  }

  std::string with_lines(const Gap& gap, const std::vector<std::string>& lines) const {
    const std::string line_break = text_.find("\r\n") == std::string::npos ? "\n" : "\r\n";
    std::string added;
    for (const std::string& line : lines) {
      added += line_break + std::string(gap.indentation, ' ') + line;
    }
    return text_.substr(0, gap.offset) + added + text_.substr(gap.offset);
  }

  Unexpected refuse(Slot slot, const std::string& key) const {
    return fail(
        ErrorKind::unsupported,
        fmt::format(
            "versions.{} has no \"{}\" and no line to add it after: add it to the file manually",
            to_string(slot), key),
        std::string(name_));
  }

  std::string text_;
  std::string_view name_;
};

Result<MatrixEdit> finish(const Matrix& before, const Editor& editor, std::string_view name) {
  LOCKSTEP_TRY(const Matrix after, parse_matrix(editor.text(), name));
  return MatrixEdit{editor.text(), changes_between(before, after)};
}

Result<void> check_key(const Matrix& matrix, Slot slot, const std::string& key) {
  std::vector<std::string> known = matrix_keys();
  for (const auto& [name, value] : matrix.slot(slot)) known.push_back(name);
  if (std::find(known.begin(), known.end(), key) != known.end()) return {};
  return fail(ErrorKind::invalid, unknown_word("key", key, known),
              fmt::format("versions.{}", to_string(slot)));
}

Result<void> check_value(const std::string& key, const std::string& value) {
  constexpr size_t longest = 200;
  const bool is_plain = std::all_of(value.begin(), value.end(),
                                    [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
  if (!is_plain || value.size() > longest || !is_valid_utf8(value)) {
    return failf(ErrorKind::invalid, "the value of {} must be one line of at most {} characters",
                 key, longest);
  }
  const auto& keys = matrix_keys();
  const bool is_version =
      key != status_key && std::find(keys.begin(), keys.end(), key) != keys.end();
  const bool looks_so = std::all_of(value.begin(), value.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '+' || c == '_';
  });
  if (is_version && !looks_so) {
    return failf(ErrorKind::invalid, "\"{}\" is not a valid version for {}", value, key);
  }
  return {};
}

}  // namespace

Result<std::pair<std::string, std::string>> parse_assignment(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return failf(ErrorKind::invalid, "\"{}\" must be KEY=VALUE: driver=580.65.06", text);
  }
  return std::pair(std::string(trim(text.substr(0, equals))),
                   std::string(trim(text.substr(equals + 1))));
}

Result<MatrixEdit> set_versions(std::string_view text, std::string_view name, Slot slot,
                                const MatrixEntries& values) {
  LOCKSTEP_TRY(const Matrix before, parse_matrix(text, name));
  Editor editor(text, name);
  bool names_status = false;
  bool has_version = false;
  for (const auto& [key, value] : values) {
    LOCKSTEP_CHECK(check_key(before, slot, key));
    LOCKSTEP_CHECK(check_value(key, value));
    if (slot == Slot::current && key == "driver" && value.empty()) {
      return fail(ErrorKind::invalid, "the fleet needs a driver: versions.current");
    }
    names_status = names_status || key == status_key;
    has_version = has_version || (key != status_key && !value.empty());
    LOCKSTEP_CHECK(editor.write(slot, key, value));
  }
  const bool begins = slot == Slot::canary && has_version && !names_status &&
                      before.value(slot, status_key).empty();
  if (begins) LOCKSTEP_CHECK(editor.write(slot, std::string(status_key), "testing"));
  return finish(before, editor, name);
}

Result<MatrixEdit> empty_canary(std::string_view text, std::string_view name) {
  LOCKSTEP_TRY(const Matrix before, parse_matrix(text, name));
  Editor editor(text, name);
  for (const auto& [key, value] : before.canary) {
    LOCKSTEP_CHECK(editor.write(Slot::canary, key, ""));
  }
  return finish(before, editor, name);
}

Result<MatrixEdit> promote_canary(std::string_view text, std::string_view name) {
  LOCKSTEP_TRY(const Matrix before, parse_matrix(text, name));
  auto refuse = [&](std::string why) {
    return fail(ErrorKind::conflict, std::move(why), fmt::format("{}: versions.canary", name));
  };
  const bool has_version = std::any_of(
      before.canary.begin(), before.canary.end(),
      [](const auto& entry) { return entry.first != status_key && !entry.second.empty(); });
  if (!has_version) return refuse("it is empty: nothing to promote");
  const std::string status = lower(before.value(Slot::canary, status_key));
  for (const char* bad : {"failed", "rejected", "reverted"}) {
    if (status == bad) return refuse(fmt::format("its status is \"{}\"", status));
  }
  Editor editor(text, name);
  for (const auto& [key, value] : before.canary) {
    if (key == status_key || value.empty()) continue;
    LOCKSTEP_CHECK(editor.write(Slot::current, key, value));
  }
  LOCKSTEP_CHECK(editor.write(Slot::current, std::string(status_key), "production"));
  LOCKSTEP_TRY(const MatrixEdit promoted, empty_canary(editor.text(), name));
  LOCKSTEP_TRY(const Matrix after, parse_matrix(promoted.text, name));
  return MatrixEdit{promoted.text, changes_between(before, after)};
}

}  // namespace lockstep::rollout
