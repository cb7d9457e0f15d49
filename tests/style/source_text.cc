#include "source_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace lockstep::style {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// A line of a comment as a line of a page. Comments indent code by two or more, pages by four;
// entries of lists may be indented too.
std::string as_page_line(std::string_view line) {
  if (!line.empty() && line[0] == ' ') line.remove_prefix(1);
  const size_t indentation = std::min(line.find_first_not_of(" \t"), line.size());
  const std::string_view words = line.substr(indentation);
  if (indentation < 2 || words.empty()) return std::string(words);
  const bool is_entry = words.size() > 1 && words[1] == ' ' && (words[0] == '*' || words[0] == '-');
  return (is_entry ? "" : "    ") + std::string(words);
}

void add_page(std::vector<Passage>& into, std::string_view page, int first_line) {
  for (Passage& passage : passages_of(page)) {
    passage.line += first_line - 1;
    for (int& line : passage.line_of) line += first_line - 1;
    into.push_back(std::move(passage));
  }
}

class Scanner {
 public:
  Scanner(std::string_view text, Syntax syntax) : text_(text), syntax_(syntax) {}

  SourceText read() {
    while (at_ < text_.size()) step();
    end_comment();
    end_literal();
    return std::move(found_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (syntax_ == Syntax::hash) {
      const bool begins_word = at_ == 0 || is_space(text_[at_ - 1]);
      if (c == '#' && begins_word && !starts_with("#!")) return read_line_comment(1);
      return skip(1);
    }
    if (starts_with("//")) return read_line_comment(2);
    if (starts_with("/*")) return read_block_comment();
    if (c == '"') return read_literal('"');
    if (c == '\'') return syntax_ == Syntax::typescript ? read_literal('\'') : skip_character();
    if (c == '`' && syntax_ == Syntax::typescript) return read_literal('`');
    if (is_word(c)) return read_word();
    if (!is_space(c)) has_code_since_literal_ = true;
    skip(1);
  }

  bool starts_with(std::string_view what) const { return text_.substr(at_, what.size()) == what; }

  void skip(size_t count) {
    for (; count > 0 && at_ < text_.size(); --count, ++at_) {
      if (text_[at_] != '\n') continue;
      ++line_;
      line_begin_ = at_ + 1;
    }
  }

  void read_line_comment(size_t marker) {
    const size_t column = at_ - line_begin_;
    const std::string_view before = text_.substr(line_begin_, column);
    const bool is_alone = std::all_of(before.begin(), before.end(), is_space);
    const bool continues = comment_lines_ > 0 && is_alone && column == comment_column_ &&
                           line_ == comment_line_ + comment_lines_;
    if (!continues) end_comment();
    if (comment_lines_ == 0) comment_line_ = line_;
    comment_column_ = column;
    ++comment_lines_;
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    comment_ += as_page_line(text_.substr(at_ + marker, end - at_ - marker)) + "\n";
    at_ = end;
  }

  void read_block_comment() {
    end_comment();
    comment_line_ = line_;
    const size_t end = std::min(text_.find("*/", at_ + 2), text_.size());
    std::string_view body = text_.substr(at_ + 2, end - at_ - 2);
    while (true) {
      const size_t line_end = std::min(body.find('\n'), body.size());
      std::string_view line = body.substr(0, line_end);
      const size_t words = std::min(line.find_first_not_of(" \t"), line.size());
      line.remove_prefix(words);
      if (!line.empty() && line[0] == '*') line.remove_prefix(1);
      comment_ += as_page_line(line) + "\n";
      if (line_end == body.size()) break;
      body.remove_prefix(line_end + 1);
    }
    comment_lines_ = 1;
    end_comment();
    skip(end + 2 - at_);
  }

  void end_comment() {
    if (comment_lines_ > 0) add_page(found_.comments, comment_, comment_line_);
    comment_.clear();
    comment_lines_ = 0;
  }

  // A name, a number with its quotes (1'000), or the prefix of a literal.
  void read_word() {
    const size_t begin = at_;
    const bool is_number = std::isdigit(static_cast<unsigned char>(text_[at_])) != 0;
    while (at_ < text_.size() && (is_word(text_[at_]) || (is_number && text_[at_] == '\''))) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    static constexpr std::array<std::string_view, 5> raw = {"R", "u8R", "uR", "UR", "LR"};
    const bool is_raw = std::find(raw.begin(), raw.end(), word) != raw.end();
    if (is_raw && syntax_ == Syntax::cpp && starts_with("\"")) return read_raw_literal();
    has_code_since_literal_ = true;
  }

  void skip_character() {
    has_code_since_literal_ = true;
    skip(1);
    while (at_ < text_.size() && text_[at_] != '\'' && text_[at_] != '\n') {
      skip(text_[at_] == '\\' ? 2 : 1);
    }
    skip(1);
  }

  void begin_literal() {
    if (has_code_since_literal_) end_literal();
    has_code_since_literal_ = false;
    if (literal_.text.empty()) literal_.line = line_;
  }

  void add_to_literal(char c) {
    // What is between backticks is code.
    if (c == '`') in_code_ = !in_code_;
    if (in_code_ && c != '`') return;
    literal_.text += is_space(c) ? ' ' : c;
    literal_.line_of.push_back(line_);
  }

  // A quote without an end on its line is not a literal, except in a template of TypeScript.
  void read_literal(char quote) {
    begin_literal();
    skip(1);
    while (at_ < text_.size() && text_[at_] != quote && (quote == '`' || text_[at_] != '\n')) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        skip(1);
        const bool is_break = text_[at_] == 'n' || text_[at_] == 't';
        add_to_literal(is_break ? ' ' : text_[at_]);
      } else {
        add_to_literal(text_[at_]);
      }
      skip(1);
    }
    skip(1);
  }

  void read_raw_literal() {
    begin_literal();
    const size_t open = std::min(text_.find('(', at_), text_.size());
    const std::string close = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    skip(open + 1 - at_);
    const size_t end = std::min(text_.find(close, at_), text_.size());
    for (; at_ < end; skip(1)) add_to_literal(text_[at_]);
    skip(close.size());
  }

  void end_literal() {
    const bool is_message = literal_.text.find(' ') != std::string::npos;
    if (is_message) {
      literal_.lines = literal_.line_of.back() - literal_.line + 1;
      found_.literals.push_back(std::move(literal_));
    }
    literal_ = {};
    in_code_ = false;
  }

  std::string_view text_;
  Syntax syntax_;
  size_t at_ = 0;
  int line_ = 1;
  size_t line_begin_ = 0;
  SourceText found_;
  // The comment that may go on in the next line.
  std::string comment_;
  int comment_line_ = 0;
  int comment_lines_ = 0;
  size_t comment_column_ = 0;
  // The literal that may go on in the next one.
  Passage literal_;
  bool in_code_ = false;
  bool has_code_since_literal_ = false;
};

}  // namespace

std::optional<Syntax> syntax_of(std::string_view path) {
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  const size_t dot = name.find_last_of('.');
  const std::string_view ending = dot == std::string_view::npos ? "" : name.substr(dot);
  struct Known {
    std::string_view ending;
    Syntax syntax;
  };
  static constexpr std::array<Known, 18> known = {{
      {".cc", Syntax::cpp},
      {".h", Syntax::cpp},
      {".inc", Syntax::cpp},
      {".cu", Syntax::cpp},
      {".c", Syntax::cpp},
      {".go", Syntax::cpp},
      {".ts", Syntax::typescript},
      {".tsx", Syntax::typescript},
      {".mjs", Syntax::typescript},
      {".css", Syntax::typescript},
      {".proto", Syntax::cpp},
      {".cmake", Syntax::hash},
      {".yaml", Syntax::hash},
      {".yml", Syntax::hash},
      {".test", Syntax::hash},
      {"", Syntax::hash},
      {"CMakeLists.txt", Syntax::hash},
      {".sh", Syntax::hash},
  }};
  for (const Known& entry : known) {
    if (entry.ending == ending || entry.ending == name) return entry.syntax;
  }
  return std::nullopt;
}

SourceText read_source(std::string_view text, Syntax syntax) {
  return Scanner(text, syntax).read();
}

std::vector<Passage> read_about(std::string_view yaml) {
  std::vector<Passage> found;
  int number = 0;
  int first = 0;
  std::string page;
  for (size_t begin = 0; begin < yaml.size();) {
    const size_t end = std::min(yaml.find('\n', begin), yaml.size());
    std::string_view line = yaml.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.substr(0, 6) == "about:") {
      first = number;
      line.remove_prefix(6);
    } else if (first > 0 && (line.empty() || line[0] != ' ')) {
      break;
    }
    if (first > 0)
      page += as_page_line(line.substr(std::min(line.find_first_not_of(' '), line.size()))) + "\n";
  }
  add_page(found, page, first);
  return found;
}

}  // namespace lockstep::style
