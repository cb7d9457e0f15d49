#include "prose.h"

#include <algorithm>
#include <cctype>
#include <regex>

namespace lockstep::style {

namespace {

constexpr int longest_sentence = 30;
constexpr int longest_paragraph = 7;

std::string trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
// Names such as those of planted bugs are joined by hyphens.
bool is_part_of_word(char c) { return is_letter(c) || c == '-'; }

// Without code and the targets of links; line breaks count as spaces.
std::string readable(const std::string& line) {
  static const std::regex span("`[^`]*`");
  static const std::regex target(R"(\]\([^)]*\))");
  return std::regex_replace(std::regex_replace(line, span, "`"), target, "]");
}

class Reader {
 public:
  std::vector<Passage> take() {
    end();
    return std::move(passages_);
  }

  void read(int number, const std::string& line) {
    if (line.rfind("```", 0) == 0) {
      is_fenced_ = !is_fenced_;
      end();
      return;
    }
    const std::string text = trimmed(line);
    if (text.empty()) {
      end();
      after_blank_ = true;
      return;
    }
    bool is_indented = line.rfind("    ", 0) == 0;
    is_code_ = is_indented && (after_blank_ || is_code_);
    after_blank_ = false;
    if (is_fenced_ || is_code_) return;
    if (text[0] == '|') {
      read_row(number, text);
    } else if (text[0] == '#') {
      end();
      const std::string heading = trimmed(text.substr(text.find_last_of('#') + 1));
      // One word is the name of a reason, which the code decides.
      if (heading.find(' ') != std::string::npos) add(number, heading);
      end();
    } else {
      static const std::regex entry(R"(^([-*+]|\d+\.) +)");
      if (std::regex_search(text, entry)) end();
      add(number, std::regex_replace(text, entry, ""));
    }
  }

 private:
  void add(int number, const std::string& line) {
    if (passage_.text.empty()) passage_.line = number;
    ++passage_.lines;
    pending_ += (pending_.empty() ? "" : "\n") + line;
    starts_.push_back(number);
    passage_.text = pending_;
  }

  void read_row(int number, const std::string& row) {
    end();
    static const std::regex span("`[^`]*`");
    std::string cell;
    for (char c : std::regex_replace(row, span, "`")) {
      if (c != '|') {
        cell += c;
        continue;
      }
      if (cell.find_first_not_of(" -:") != std::string::npos) add(number, cell);
      end();
      cell.clear();
    }
  }

  // A span or a link may go over the end of a line: what is left out is found in the whole.
  void end() {
    if (!passage_.text.empty()) {
      std::string text = readable(pending_);
      passage_.text.clear();
      // Breaks within what was left out are lost: the lines after them are then found a little
      // early.
      size_t line = 0;
      for (char c : text) {
        if (c == '\n' && line + 1 < starts_.size()) ++line;
        passage_.text += c == '\n' ? ' ' : c;
        passage_.line_of.push_back(starts_[line]);
      }
      passages_.push_back(std::move(passage_));
    }
    passage_ = {};
    pending_.clear();
    starts_.clear();
  }

  std::vector<Passage> passages_;
  Passage passage_;
  std::string pending_;
  std::vector<int> starts_;
  bool is_fenced_ = false;
  bool is_code_ = false;
  bool after_blank_ = true;
};

// Sentences end with a full stop, a question mark or an exclamation mark before white space.
template <typename Visit>
void each_sentence(const Passage& passage, Visit visit) {
  size_t begin = 0;
  for (size_t i = 0; i < passage.text.size(); ++i) {
    bool is_end = i + 1 == passage.text.size();
    bool is_mark = passage.text[i] == '.' || passage.text[i] == '?' || passage.text[i] == '!';
    bool before_space = !is_end && (passage.text[i + 1] == ' ' || passage.text[i + 1] == ')' ||
                                    passage.text[i + 1] == '*' || passage.text[i + 1] == '"');
    if (!is_end && !(is_mark && before_space)) continue;
    visit(begin, std::string_view(passage.text).substr(begin, i + 1 - begin));
    begin = i + 1;
  }
}

int count_words(std::string_view sentence) {
  int words = 0;
  bool in_word = false;
  for (char c : sentence) {
    bool is_part = is_letter(c) || (c & 0x80) != 0 || (in_word && c != ' ');
    if (is_part && !in_word) ++words;
    in_word = is_part;
  }
  return words;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::vector<Phrase> read_phrases(std::string_view list) {
  std::vector<Phrase> phrases;
  for (size_t begin = 0; begin < list.size();) {
    size_t end = std::min(list.find('\n', begin), list.size());
    std::string line(list.substr(begin, end - begin));
    begin = end + 1;
    size_t arrow = line.find(" -> ");
    if (line.empty() || line[0] == '#' || arrow == std::string::npos) continue;
    Phrase phrase{{}, line.substr(arrow + 4)};
    std::string forms = lower(line.substr(0, arrow)) + "/";
    for (size_t at = 0; at < forms.size();) {
      size_t slash = forms.find('/', at);
      phrase.forms.push_back(forms.substr(at, slash - at));
      at = slash + 1;
    }
    phrases.push_back(std::move(phrase));
  }
  return phrases;
}

std::vector<Passage> passages_of(std::string_view markdown) {
  Reader reader;
  int number = 0;
  for (size_t begin = 0; begin < markdown.size();) {
    size_t end = std::min(markdown.find('\n', begin), markdown.size());
    reader.read(++number, std::string(markdown.substr(begin, end - begin)));
    begin = end + 1;
  }
  return reader.take();
}

std::vector<Finding> find_phrases(const std::string& path, const std::vector<Passage>& passages,
                                  const std::vector<Phrase>& phrases) {
  std::vector<Finding> findings;
  for (const Passage& passage : passages) {
    const std::string text = lower(passage.text);
    for (const Phrase& phrase : phrases) {
      for (const std::string& form : phrase.forms) {
        for (size_t at = text.find(form); at != std::string::npos; at = text.find(form, at + 1)) {
          size_t end = at + form.size();
          if (at > 0 && is_part_of_word(text[at - 1])) continue;
          if (end < text.size() && is_part_of_word(text[end])) continue;
          findings.push_back(
              {path, passage.line_of[at], "\"" + form + "\": use " + phrase.instead});
        }
      }
    }
  }
  return findings;
}

std::vector<Finding> check_phrases(const SourceFile& page, const std::vector<Phrase>& phrases) {
  return find_phrases(page.path, passages_of(page.text), phrases);
}

std::vector<Finding> check_sentences(const SourceFile& page) {
  std::vector<Finding> findings;
  for (const Passage& passage : passages_of(page.text)) {
    each_sentence(passage, [&](size_t begin, std::string_view sentence) {
      int words = count_words(sentence);
      if (words <= longest_sentence) return;
      findings.push_back({page.path, passage.line_of[begin],
                          std::to_string(words) +
                              " words in one sentence: " + trimmed(sentence.substr(0, 60)) + "…"});
    });
  }
  return findings;
}

std::vector<Finding> check_paragraphs(const SourceFile& page) {
  std::vector<Finding> findings;
  for (const Passage& passage : passages_of(page.text)) {
    if (passage.lines > longest_paragraph) {
      findings.push_back({page.path, passage.line,
                          std::to_string(passage.lines) + " lines: use a list or two paragraphs"});
    }
  }
  return findings;
}

}  // namespace lockstep::style
