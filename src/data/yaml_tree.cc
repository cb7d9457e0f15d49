#include "data/yaml_tree.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <yaml.h>

namespace lockstep::yaml {

namespace {

// Turns libyaml's character index into a byte offset. Events come nearly in order, so it steps from
// the last place instead of counting from the beginning.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text), offset_(byte_order_mark(text).size()) {}

  Mark at(const yaml_mark_t& mark) {
    while (index_ < mark.index && offset_ < text_.size()) {
      offset_ += decode_utf8(text_, offset_).size;
      ++index_;
    }
    while (index_ > mark.index) {
      do {
        --offset_;
      } while ((static_cast<unsigned char>(text_[offset_]) & 0xC0) == 0x80);
      --index_;
    }
    return Mark{static_cast<uint32_t>(mark.line), static_cast<uint32_t>(mark.column),
                static_cast<uint32_t>(offset_)};
  }

 private:
  std::string_view text_;
  size_t offset_;
  size_t index_ = 0;
};

// libyaml's events, each freed when the next is asked for.
class Events {
 public:
  explicit Events(std::string_view text) {
    is_ready_ = yaml_parser_initialize(&parser_) != 0;
    if (!is_ready_) return;
    text.remove_prefix(byte_order_mark(text).size());
    // Set explicitly: libyaml would take some texts for UTF-16.
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events() {
    release();
    if (is_ready_) yaml_parser_delete(&parser_);
  }

  // Null at a syntax error; then problem() says which.
  const yaml_event_t* next() {
    release();
    if (!is_ready_ || yaml_parser_parse(&parser_, &event_) == 0) return nullptr;
    has_event_ = true;
    return &event_;
  }

  Error problem(std::string_view name, std::string_view text) const;

 private:
  void release() {
    if (has_event_) yaml_event_delete(&event_);
    has_event_ = false;
  }

  yaml_parser_t parser_;
  yaml_event_t event_;
  bool is_ready_ = false;
  bool has_event_ = false;
};

// What to do about the most frequent syntax errors. `rest` is the document from the error on.
std::string advice(std::string_view problem, std::string_view rest) {
  struct Advice {
    std::string_view problem;
    std::string_view text;
  };
  static constexpr Advice kAdvice[] = {
      {"mapping values are not allowed",
       "quote a value that holds \": \", or check the indentation"},
      {"could not find expected ':'", "a key needs a colon and a blank behind it"},
      {"did not find expected key", "check the indentation, and that quotes are closed"},
      {"did not find expected '-' indicator", "indent the items of a list alike"},
      {"block sequence entries are not allowed", "begin the list on a line of its own"},
      {"unexpected end of stream", "close the quotes"},
      {"unknown escape character", "write \\\\ for a backslash, or use single quotes"},
      {"expected ',' or", "close the bracket, or put a comma between the items"},
      {"unexpected ':'", "put a blank behind the colon, or quote the value"},
      {"undefined tag handle", "remove the tag, or quote a value that begins with !"},
      {"alphabetic or numeric character", "quote a value that begins with & or *"},
  };
  if (problem.find("cannot start any token") != std::string_view::npos) {
    if (rest.starts_with('\t')) return "indent with spaces, not with a tab";
    return fmt::format("quote a value that begins with {}", rest.substr(0, 1));
  }
  for (const Advice& entry : kAdvice) {
    if (problem.find(entry.problem) != std::string_view::npos) return std::string(entry.text);
  }
  return "correct the YAML here";
}

Error Events::problem(std::string_view name, std::string_view text) const {
  if (!is_ready_ || parser_.error == YAML_MEMORY_ERROR) {
    return Error{ErrorKind::internal, "libyaml is out of memory", std::string(name)};
  }
  const std::string_view problem = parser_.problem ? parser_.problem : "unknown syntax error";
  std::string message(problem);
  if (parser_.context != nullptr && parser_.context_mark.line != parser_.problem_mark.line) {
    message += fmt::format(" {} from line {} on", parser_.context, parser_.context_mark.line + 1);
  }
  const Mark mark = Cursor(text).at(parser_.problem_mark);
  return Error{ErrorKind::invalid,
               fmt::format("{}; {}", message, advice(problem, text.substr(mark.offset))),
               place(name, mark)};
}

std::string_view view(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

ScalarStyle style_of(const yaml_event_t& event) {
  switch (event.data.scalar.style) {
    case YAML_SINGLE_QUOTED_SCALAR_STYLE:
      return ScalarStyle::single_quoted;
    case YAML_DOUBLE_QUOTED_SCALAR_STYLE:
      return ScalarStyle::double_quoted;
    case YAML_LITERAL_SCALAR_STYLE:
    case YAML_FOLDED_SCALAR_STYLE:
      return ScalarStyle::block;
    default:
      return ScalarStyle::plain;
  }
}

// Builds trees from events with a stack of its own: a deep text must not exhaust ours.
class Composer {
 public:
  Composer(std::string_view text, std::string_view name, const YamlLimits& limits)
      : text_(text), name_(name), limits_(limits), events_(text), cursor_(text) {}

  Result<std::vector<Tree>> run() {
    while (const yaml_event_t* event = events_.next()) {
      if (event->type == YAML_STREAM_END_EVENT) return std::move(trees_);
      LOCKSTEP_CHECK(take(*event));
    }
    return fail(events_.problem(name_, text_));
  }

 private:
  Result<void> take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        trees_.emplace_back();
        anchors_.clear();
        return {};
      case YAML_SCALAR_EVENT:
        return take_scalar(event);
      case YAML_ALIAS_EVENT:
        return take_alias(event);
      case YAML_SEQUENCE_START_EVENT:
        return open(event, NodeKind::sequence, event.data.sequence_start.anchor,
                    event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE);
      case YAML_MAPPING_START_EVENT:
        return open(event, NodeKind::mapping, event.data.mapping_start.anchor,
                    event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        open_.pop_back();
        return {};
      default:
        return {};
    }
  }

  Result<void> take_scalar(const yaml_event_t& event) {
    LOCKSTEP_TRY(const NodeId id, add(event, NodeKind::scalar));
    const auto& scalar = event.data.scalar;
    Node& node = tree().nodes[id];
    node.style = style_of(event);
    node.text.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
    node.end = cursor_.at(event.end_mark);
    std::string tag(view(scalar.tag));
    LOCKSTEP_CHECK(count_tag(tag, node));
    // libyaml forgets a lone "!", which makes a string even of an unquoted number.
    if (tag.empty() && node.style == ScalarStyle::plain && has_lone_tag(node)) tag = "!";
    set_properties(id, tag, view(scalar.anchor));
    return {};
  }

  bool has_lone_tag(const Node& node) const {
    const char first = node.start < node.end ? text_[node.start.offset] : ' ';
    if (first != '!' && first != '&') return false;
    const size_t value =
        std::min<size_t>(skip_properties(text_, node.start.offset), node.end.offset);
    return text_.substr(node.start.offset, value - node.start.offset).find('!') !=
           std::string_view::npos;
  }

  Result<void> take_alias(const yaml_event_t& event) {
    const std::string anchor(view(event.data.alias.anchor));
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      return fail(ErrorKind::invalid,
                  fmt::format("the alias *{} has no anchor &{} before it; add the anchor, or quote "
                              "a value that begins with *",
                              anchor, anchor),
                  place(name_, cursor_.at(event.start_mark)));
    }
    LOCKSTEP_TRY(const NodeId id, add(event, NodeKind::alias));
    tree().nodes[id].text = anchor;
    tree().nodes[id].target = found->second;
    tree().nodes[id].end = cursor_.at(event.end_mark);
    tree().nodes[found->second].is_aliased = true;
    return {};
  }

  Result<void> open(const yaml_event_t& event, NodeKind kind, const yaml_char_t* anchor,
                    bool is_flow) {
    LOCKSTEP_TRY(const NodeId id, add(event, kind));
    if (open_.size() >= limits_.depth) {
      return fail(ErrorKind::too_large,
                  fmt::format("nested deeper than {} levels; flatten the document", limits_.depth),
                  place(name_, tree().nodes[id].start));
    }
    const auto* tag =
        kind == NodeKind::sequence ? event.data.sequence_start.tag : event.data.mapping_start.tag;
    LOCKSTEP_CHECK(count_tag(view(tag), tree().nodes[id]));
    // The tag of a list or map changes nothing, in Helm as here.
    set_properties(id, {}, view(anchor));
    open_.push_back({id, is_flow});
    return {};
  }

  Result<NodeId> add(const yaml_event_t& event, NodeKind kind) {
    if (++node_count_ > limits_.nodes) {
      return fail(ErrorKind::too_large,
                  fmt::format("more than {} values; split the file", limits_.nodes),
                  place(name_, cursor_.at(event.start_mark)));
    }
    const auto id = static_cast<NodeId>(tree().nodes.size());
    Node node;
    node.kind = kind;
    node.start = node.end = cursor_.at(event.start_mark);
    if (!open_.empty()) {
      node.in_flow = open_.back().is_flow;
      tree().nodes[open_.back().id].children.push_back(id);
    }
    tree().nodes.push_back(std::move(node));
    return id;
  }

  // A %TAG line can give a long name to "!", and every "!" repeats it.
  Result<void> count_tag(std::string_view tag, const Node& node) {
    tag_bytes_ += tag.size();
    if (tag_bytes_ <= limits_.bytes) return {};
    return fail(ErrorKind::too_large,
                fmt::format("tags repeat more than {} bytes of text; use shorter tags, or fewer",
                            limits_.bytes),
                place(name_, node.start));
  }

  void set_properties(NodeId id, std::string_view tag, std::string_view anchor) {
    if (tag.empty() && anchor.empty()) return;
    tree().nodes[id].properties = static_cast<uint32_t>(tree().properties.size());
    tree().properties.push_back({std::string(tag), std::string(anchor)});
    if (!anchor.empty()) anchors_.insert_or_assign(std::string(anchor), id);
  }

  Tree& tree() { return trees_.back(); }

  struct Open {
    NodeId id;
    bool is_flow;
  };

  std::string_view text_;
  std::string_view name_;
  const YamlLimits& limits_;
  Events events_;
  Cursor cursor_;
  std::vector<Tree> trees_;
  std::vector<Open> open_;
  std::map<std::string, NodeId> anchors_;
  size_t node_count_ = 0;
  size_t tag_bytes_ = 0;
};

}  // namespace

bool Tree::is_empty() const {
  const Node& node = root();
  return node.kind == NodeKind::scalar && node.style == ScalarStyle::plain && node.text.empty() &&
         node.properties == 0;
}

Result<std::vector<Tree>> compose(std::string_view text, std::string_view name,
                                  const YamlLimits& limits) {
  // Marks hold offsets of 32 bits.
  const size_t most = std::min<size_t>(limits.bytes, UINT32_MAX - 1);
  if (text.size() > most) {
    return fail(ErrorKind::too_large,
                fmt::format("{} bytes of YAML, more than {}; split the file", text.size(), most),
                std::string(name));
  }
  LOCKSTEP_CHECK(check_characters(text, name));
  return Composer(text, name, limits).run();
}

size_t skip_properties(std::string_view text, size_t offset) {
  const auto skip_to = [&](std::string_view stops) {
    offset = std::min(text.find_first_of(stops, offset), text.size());
  };
  while (offset < text.size() && (text[offset] == '&' || text[offset] == '!')) {
    skip_to(" \t\r\n");
    while (offset < text.size() &&
           (text[offset] == '#' || text[offset] == ' ' || text[offset] == '\t' ||
            text[offset] == '\r' || text[offset] == '\n')) {
      if (text[offset] == '#')
        skip_to("\r\n");
      else
        ++offset;
    }
  }
  return offset;
}

}  // namespace lockstep::yaml
