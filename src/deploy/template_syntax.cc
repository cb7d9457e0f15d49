#include "deploy/template_syntax.h"

#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "deploy/template_words.h"

namespace lockstep::deploy {

namespace {

// The keys of ".Values.image.tag"; a lone dot has none.
Result<std::vector<std::string>> keys_of(std::string_view word) {
  std::vector<std::string> keys;
  if (word.empty() || word == ".") return keys;
  if (word.front() != '.') return failf(ErrorKind::invalid, "invalid path \"{}\"", word);
  for (std::string_view key : split(word.substr(1), '.')) {
    if (key.empty()) return failf(ErrorKind::invalid, "\"{}\" has an empty key", word);
    keys.emplace_back(key);
  }
  return keys;
}

bool is_name(std::string_view word) {
  return word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
         std::string_view::npos;
}

// One action's words, read from left to right.
class Reader {
 public:
  Reader(std::vector<std::string> words, int line) : words_(std::move(words)), line_(line) {}

  bool at_end() const { return at_ == words_.size(); }
  std::string peek() const { return at_end() ? "" : words_[at_]; }
  std::string next() { return at_end() ? "" : words_[at_++]; }

  // Up to the end of the action, or of the parenthesis.
  Result<Expression> pipeline() {
    LOCKSTEP_TRY(Expression value, command());
    while (peek() == "|") {
      next();
      LOCKSTEP_TRY(Expression function, command());
      if (function.kind != Expression::Kind::call) {
        return failf(ErrorKind::invalid, "only a function can follow \"|\"");
      }
      function.arguments.push_back(std::move(value));
      value = std::move(function);
    }
    return value;
  }

 private:
  Result<Expression> command() {
    if (at_end()) return failf(ErrorKind::invalid, "a value is missing");
    bool calls = is_name(peek()) && peek() != "true" && peek() != "false";
    if (!calls) return term();
    Expression call;
    call.kind = Expression::Kind::call;
    call.line = line_;
    call.function = next();
    while (!at_end() && peek() != "|" && peek() != ")") {
      // A function without arguments of its own gets them in parentheses.
      LOCKSTEP_TRY(Expression argument, term());
      call.arguments.push_back(std::move(argument));
    }
    return call;
  }

  Result<Expression> term() {
    std::string word = next();
    Expression value;
    value.line = line_;
    if (word == "(") {
      LOCKSTEP_TRY(value, pipeline());
      if (next() != ")") return failf(ErrorKind::invalid, "a \")\" is missing");
      return value;
    }
    if (word.starts_with('"') || parse_integer(word) || word == "true" || word == "false") {
      auto literal = parse_json(word);
      if (!literal) return failf(ErrorKind::invalid, "{} is not a string", word);
      value.literal = std::move(*literal);
      return value;
    }
    value.kind = Expression::Kind::path;
    value.from_root = word.starts_with('$');
    LOCKSTEP_TRY(value.path, keys_of(std::string_view(word).substr(value.from_root ? 1 : 0)));
    return value;
  }

  std::vector<std::string> words_;
  size_t at_ = 0;
  int line_;
};

// The pieces of a file, read into its tree.
class Parser {
 public:
  Parser(std::vector<TemplatePiece> pieces, const std::string& name)
      : pieces_(std::move(pieces)), name_(name) {}

  Result<Template> parse() {
    LOCKSTEP_TRY(Stop stop, nodes(template_.nodes));
    if (!stop.word.empty()) return wrong(stop.line, "no block is open to end");
    return std::move(template_);
  }

 private:
  // What ended a list of nodes: "end", "else", "else if …", or the end of the file.
  struct Stop {
    std::string word;
    std::string rest;
    int line = 0;
  };

  Unexpected wrong(int line, const std::string& what) const {
    return fail(ErrorKind::invalid, what, fmt::format("{}:{}", name_, line));
  }

  Result<Stop> nodes(TemplateNodes& into) {
    while (at_ < pieces_.size()) {
      TemplatePiece piece = pieces_[at_++];
      if (!piece.is_action) {
        into.push_back({TemplateNode::Kind::text, std::move(piece.text), {}, {}, {}});
        continue;
      }
      size_t space = std::min(piece.text.find(' '), piece.text.size());
      std::string word = piece.text.substr(0, space);
      std::string rest(trim(std::string_view(piece.text).substr(space)));
      if (word == "end" || word == "else") return Stop{word, rest, piece.line};
      auto read = action(word, rest, piece, into);
      if (!read)
        return read.error().place.empty() ? wrong(piece.line, read.error().message)
                                          : fail(read.error());
    }
    return Stop{};
  }

  Result<void> action(const std::string& word, const std::string& rest, const TemplatePiece& piece,
                      TemplateNodes& into) {
    if (word == "define") return definition(rest, piece.line);
    TemplateNode node;
    if (word == "if") node.kind = TemplateNode::Kind::condition;
    if (word == "with") node.kind = TemplateNode::Kind::with;
    if (word == "range") node.kind = TemplateNode::Kind::range;
    bool block = node.kind != TemplateNode::Kind::text;
    if (!block) node.kind = TemplateNode::Kind::output;
    LOCKSTEP_TRY(node.expression, expression(block ? rest : piece.text, piece.line));
    if (block) LOCKSTEP_CHECK(body(node, piece.line));
    into.push_back(std::move(node));
    return {};
  }

  Result<Expression> expression(const std::string& text, int line) const {
    LOCKSTEP_TRY(std::vector<std::string> words, split_action(text));
    Reader reader(std::move(words), line);
    LOCKSTEP_TRY(Expression value, reader.pipeline());
    if (!reader.at_end()) return failf(ErrorKind::invalid, "unexpected \"{}\"", reader.peek());
    return value;
  }

  Result<void> body(TemplateNode& node, int line) {
    LOCKSTEP_TRY(Stop stop, nodes(node.body));
    if (stop.word == "else" && stop.rest.empty()) {
      LOCKSTEP_TRY(stop, nodes(node.otherwise));
    } else if (stop.word == "else" && stop.rest.starts_with("if ")) {
      // "else if x" is an "else" that holds an "if x", and one "end" ends both.
      TemplateNode inner;
      inner.kind = TemplateNode::Kind::condition;
      LOCKSTEP_TRY(inner.expression, expression(stop.rest.substr(3), stop.line));
      LOCKSTEP_CHECK(body(inner, stop.line));
      node.otherwise.push_back(std::move(inner));
      return {};
    }
    if (stop.word != "end" || !stop.rest.empty()) return wrong(line, "it has no end");
    return {};
  }

  Result<void> definition(const std::string& quoted_name, int line) {
    auto name = parse_json(quoted_name);
    if (!name || !name->is_string()) return wrong(line, "define needs a name in quotes");
    TemplateNodes held;
    LOCKSTEP_TRY(Stop stop, nodes(held));
    if (stop.word != "end") return wrong(line, "it has no end");
    template_.definitions[std::string(as_text(&*name))] = std::move(held);
    return {};
  }

  std::vector<TemplatePiece> pieces_;
  size_t at_ = 0;
  std::string name_;
  Template template_;
};

}  // namespace

Result<Template> parse_template(std::string_view text, const std::string& name) {
  LOCKSTEP_TRY(std::vector<TemplatePiece> pieces, split_template(text, name));
  return Parser(std::move(pieces), name).parse();
}

}  // namespace lockstep::deploy
