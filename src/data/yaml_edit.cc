#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/yaml.h"
#include "data/yaml_read.h"
#include "data/yaml_scalar.h"
#include "data/yaml_style.h"
#include "data/yaml_tree.h"

namespace lockstep {

namespace {

using yaml::Node;
using yaml::NodeKind;
using yaml::ScalarStyle;
using yaml::Tree;

using Path = std::vector<std::string>;

std::string path_text(const Path& path, size_t length) {
  if (length == 0) return "the top of the document";
  return '"' + join({path.begin(), path.begin() + static_cast<std::ptrdiff_t>(length)}, ".") + '"';
}

// Walks one document along the path.
class Walk {
 public:
  Walk(const Tree& tree, const Path& path, std::string_view name)
      : tree_(tree), path_(path), name_(name) {}

  Result<const Node*> run() {
    const Node* node = &tree_.root();
    while (steps_ < path_.size()) {
      trail_.push_back(node);
      LOCKSTEP_TRY(node, step(*node));
      ++steps_;
    }
    trail_.push_back(node);
    return node;
  }

  // How far it came: if several documents lack the path, the error is about the likeliest.
  size_t steps() const { return steps_; }
  // The nodes from the root to the one found.
  const std::vector<const Node*>& trail() const { return trail_; }

 private:
  Result<const Node*> step(const Node& node) const {
    switch (node.kind) {
      case NodeKind::mapping:
        return step_into_mapping(node);
      case NodeKind::sequence:
        return step_into_sequence(node);
      case NodeKind::alias:
        return refuse(
            node, fmt::format("{} is the alias *{}; edit &{} at line {} instead", here(), node.text,
                              node.text, tree_.nodes[node.target].start.line + 1));
      case NodeKind::scalar:
        break;
    }
    return missing(node, fmt::format("{} is a single value, with nothing below it", here()));
  }

  Result<const Node*> step_into_mapping(const Node& node) const {
    std::vector<std::string> keys;
    bool has_merge = false;
    for (size_t index = 0; index + 1 < node.children.size(); index += 2) {
      const Node& key = tree_.nodes[node.children[index]];
      if (yaml::is_merge_key(tree_, key)) {
        has_merge = true;
        continue;
      }
      LOCKSTEP_TRY(std::string text, yaml::key_text(tree_, key, name_));
      if (text == path_[steps_]) return &tree_.nodes[node.children[index + 1]];
      keys.push_back(std::move(text));
    }
    std::string message = fmt::format("no key \"{}\" under {}", path_[steps_], here());
    if (nearest(path_[steps_], keys)) {
      message += suggestion(path_[steps_], keys);
    } else if (has_merge) {
      message += "; keys that << brings must be edited where they come from";
    } else if (keys.empty()) {
      message += ", which is empty";
    } else {
      message +=
          fmt::format(", which has \"{}\"{}", keys.front(), keys.size() > 1 ? " and others" : "");
    }
    return missing(node, std::move(message));
  }

  Result<const Node*> step_into_sequence(const Node& node) const {
    const auto index = parse_unsigned(path_[steps_]);
    if (index && *index < node.children.size()) return &tree_.nodes[node.children[*index]];
    return missing(node,
                   fmt::format("no item \"{}\" in the list {}; it has {} items, counted from 0",
                               path_[steps_], here(), node.children.size()));
  }

  std::string here() const { return path_text(path_, steps_); }

  Unexpected missing(const Node& node, std::string message) const {
    return fail(ErrorKind::not_found, std::move(message), yaml::place(name_, node.start));
  }
  Unexpected refuse(const Node& node, std::string message) const {
    return fail(ErrorKind::invalid, std::move(message), yaml::place(name_, node.start));
  }

  const Tree& tree_;
  const Path& path_;
  std::string_view name_;
  size_t steps_ = 0;
  std::vector<const Node*> trail_;
};

struct Target {
  size_t document = 0;
  const Node* node = nullptr;
  std::vector<const Node*> trail;
};

Json* find_at(Json& value, const Path& path) {
  Json* here = &value;
  for (const std::string& step : path) {
    if (here->is_object()) {
      here = find(*here, step);
    } else if (const auto index = parse_unsigned(step); here->is_array() && index) {
      here = here->get_array().if_contains(*index);
    } else {
      return nullptr;
    }
    if (here == nullptr) return nullptr;
  }
  return here;
}

// In the first document that has the path.
Result<Target> locate(const std::vector<Tree>& trees, std::vector<Json>& documents,
                      const Path& path, std::string_view name) {
  Error failure{ErrorKind::not_found, "the text is empty; there is no value to edit",
                std::string(name)};
  std::optional<size_t> farthest;
  for (size_t document = 0; document < trees.size(); ++document) {
    Walk walk(trees[document], path, name);
    auto node = walk.run();
    if (node) return Target{document, *node, walk.trail()};
    // It has the path, but through an alias or "<<": another document's is not what was meant.
    if (find_at(documents[document], path) != nullptr) return fail(node.error());
    if (!farthest || walk.steps() > *farthest) {
      farthest = walk.steps();
      failure = node.error();
    }
  }
  return fail(std::move(failure));
}

Result<void> check_editable(const Tree& tree, const Target& target, const Path& path,
                            std::string_view name) {
  const Node& node = *target.node;
  const std::string where = path_text(path, path.size());
  std::string problem;
  if (node.kind == NodeKind::alias) {
    problem = fmt::format("{} is the alias *{}; edit &{} at line {}, or replace the alias by hand",
                          where, node.text, node.text, tree.nodes[node.target].start.line + 1);
  } else if (node.kind != NodeKind::scalar) {
    problem = fmt::format("{} is a {}, not a single value; name a value below it", where,
                          node.kind == NodeKind::mapping ? "map" : "list");
  } else if (node.is_aliased) {
    problem = fmt::format(
        "{} has the anchor &{}, and aliases of it would change too; replace the "
        "aliases *{} first",
        where, tree.properties_of(node).anchor, tree.properties_of(node).anchor);
  } else {
    return {};
  }
  return fail(ErrorKind::invalid, std::move(problem), yaml::place(name, node.start));
}

// Bytes of the text and what could take their place, the best first.
struct Splice {
  size_t begin = 0;
  size_t end = 0;
  std::vector<std::string> candidates;
};

std::string_view text_of(const Json& value) {
  if (!value.is_string()) return {};
  return {value.get_string().data(), value.get_string().size()};
}

// The ways to write the value, those that keep the old quotes first.
std::vector<std::string> inline_candidates(const Node& node, const Json& value) {
  if (!value.is_string()) return {yaml::print_scalar(value)};
  const std::string_view text = text_of(value);
  // {"a": 1} may be JSON and must remain JSON. JSON strings have quotes, so this was not a string.
  const bool in_json = node.in_flow && node.style == ScalarStyle::plain && !node.text.empty() &&
                       !std::holds_alternative<std::string>(yaml::resolve_plain(node.text));
  std::vector<std::string> candidates;
  if (node.style == ScalarStyle::single_quoted) {
    if (auto quoted = yaml::quote_single(text)) candidates.push_back(std::move(*quoted));
  } else if (node.style != ScalarStyle::double_quoted && !in_json) {
    candidates.push_back(yaml::print_string(text, node.in_flow));
  }
  candidates.push_back(yaml::quote_double(text));
  return candidates;
}

Splice splice_inline(std::string_view text, const Node& node, const Json& value) {
  Splice splice;
  splice.end = node.end.offset;
  splice.begin = node.properties == 0
                     ? node.start.offset
                     : std::min(yaml::skip_properties(text, node.start.offset), splice.end);
  const bool is_empty = splice.begin == splice.end;
  const bool touches =
      splice.begin > 0 && text.find_first_of(" \t\r\n", splice.begin - 1) != splice.begin - 1;
  for (std::string& candidate : inline_candidates(node, value)) {
    if (!is_empty) {
      splice.candidates.push_back(std::move(candidate));
      continue;
    }
    // "key:" and "-" lack the blank that a value needs; "{key}" and "? key" lack the colon too.
    splice.candidates.push_back((touches ? " " : "") + candidate);
    splice.candidates.push_back(": " + candidate);
  }
  return splice;
}

// A block scalar: "|2- # comment", a line break, the lines.
struct Block {
  size_t begin = 0;
  size_t end = 0;  // behind the last line that has text, before its line break
  std::string_view comment;
  std::string_view line_break;
  size_t indentation = 0;
  size_t step = 0;  // as the indentation indicator says; zero without one
};

size_t line_end(std::string_view text, size_t from) {
  return std::min(text.find_first_of("\r\n", from), text.size());
}

size_t leading_blanks(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

std::string_view first_line_with_text(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    if (!trim(line).empty()) return line;
  }
  return {};
}

Block examine_block(std::string_view text, const Node& node) {
  Block block;
  block.begin = yaml::skip_properties(text, node.start.offset);
  const size_t header_end = line_end(text, block.begin);
  const size_t behind_indicators =
      std::min(text.find_first_not_of("|>+-0123456789", block.begin), header_end);
  for (const char c : text.substr(block.begin, behind_indicators - block.begin)) {
    if (c >= '1' && c <= '9') block.step = static_cast<size_t>(c - '0');
  }
  block.comment = text.substr(behind_indicators, header_end - behind_indicators);
  if (trim(block.comment).empty()) block.comment = {};
  block.line_break = text.substr(header_end).starts_with("\r\n") ? "\r\n" : "\n";

  block.end = header_end;
  const std::string_view whole = text.substr(0, std::max<size_t>(node.end.offset, header_end));
  const size_t last = whole.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos || last < header_end) return block;
  block.end = line_end(text, last);
  const size_t first = whole.find_first_not_of(" \t\r\n", header_end);
  const size_t line = whole.find_last_of("\r\n", first) + 1;
  block.indentation =
      leading_blanks(whole.substr(line)) -
      std::min(leading_blanks(first_line_with_text(node.text)), leading_blanks(whole.substr(line)));
  return block;
}

Splice splice_block(std::string_view text, const Node& node, const Json& value) {
  const Block block = examine_block(text, node);
  Splice splice{block.begin, block.end, {}};
  if (block.indentation > 0) {
    if (auto lines =
            yaml::print_block(text_of(value), block.indentation, block.step, block.line_break)) {
      lines->insert(lines->find_first_of("\r\n"), block.comment);
      splice.candidates.push_back(std::move(*lines));
    }
  }
  for (const std::string& candidate : inline_candidates(node, value)) {
    splice.candidates.push_back(candidate + std::string(block.comment));
  }
  return splice;
}

std::string apply(std::string_view text, const Splice& splice, std::string_view replacement) {
  std::string out;
  out.reserve(text.size() + replacement.size());
  out += text.substr(0, splice.begin);
  out += replacement;
  out += text.substr(splice.end);
  return out;
}

bool reads_as(std::string_view text, const std::vector<Json>& expected, const YamlLimits& limits) {
  const auto trees = yaml::compose(text, {}, limits);
  if (!trees) return false;
  const auto values = yaml::to_json(*trees, {}, limits);
  return values && std::equal(values->begin(), values->end(), expected.begin(), expected.end(),
                              [](const Json& a, const Json& b) { return json_equal(a, b); });
}

Error cannot_write(const Tree& tree, const Target& target, const Path& path,
                   std::string_view name) {
  std::string message = fmt::format("cannot change {} alone", path_text(path, path.size()));
  const auto shared = std::find_if(target.trail.begin(), target.trail.end(),
                                   [](const Node* node) { return node->is_aliased; });
  if (shared != target.trail.end()) {
    message += fmt::format(": it is inside &{} at line {}, and aliases of that would change too",
                           tree.properties_of(**shared).anchor, (*shared)->start.line + 1);
  } else if (!tree.properties_of(*target.node).tag.empty()) {
    message += ": its tag does not fit the new value";
  }
  return Error{ErrorKind::invalid, message + "; edit the file by hand",
               yaml::place(name, target.node->start)};
}

}  // namespace

Result<std::string> edit_yaml_scalar(std::string_view text, const std::vector<std::string>& path,
                                     const Json& value, std::string_view name) {
  const YamlLimits limits;
  if (value.is_object() || value.is_array()) {
    return failf(ErrorKind::invalid, "the new value of {} must be a single value, not a {}",
                 path_text(path, path.size()), value.is_object() ? "map" : "list");
  }
  LOCKSTEP_TRY(const auto trees, yaml::compose(text, name, limits));
  LOCKSTEP_TRY(auto documents, yaml::to_json(trees, name, limits));
  LOCKSTEP_TRY(const Target target, locate(trees, documents, path, name));
  const Tree& tree = trees[target.document];
  LOCKSTEP_CHECK(check_editable(tree, target, path, name));

  Json* old_value = find_at(documents[target.document], path);
  if (old_value == nullptr) return fail(cannot_write(tree, target, path, name));
  if (json_equal(*old_value, value)) return std::string(text);
  *old_value = value;

  const Splice splice = target.node->style == ScalarStyle::block
                            ? splice_block(text, *target.node, value)
                            : splice_inline(text, *target.node, value);
  for (const std::string& candidate : splice.candidates) {
    std::string edited = apply(text, splice, candidate);
    if (reads_as(edited, documents, limits)) return edited;
  }
  return fail(cannot_write(tree, target, path, name));
}

}  // namespace lockstep
