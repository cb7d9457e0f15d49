#include "kubectl/transcript.h"

#include <algorithm>
#include <map>
#include <regex>

#include "base/strings.h"

namespace lockstep::suite {

namespace {

const std::string age = R"((?:\d+[smhdy])+)";
const std::string uid = R"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})";
const std::string time_text = R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)";
const std::string date = R"([A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4})";

const std::map<std::string, std::string, std::less<>>& placeholders() {
  static const std::map<std::string, std::string, std::less<>> known = {
      {"age", age},   {"uid", uid},         {"version", R"(\d+)"}, {"time", time_text},
      {"date", date}, {"number", R"(\d+)"}, {"word", R"(\S+)"},    {"any", ".*"},
  };
  return known;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (std::string_view(R"(\^$.|?*+()[]{})").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

// White space as an expression, the rest literally.
std::string escaped_with_spaces(std::string_view text) {
  std::string result;
  std::string literal;
  for (const char c : text) {
    if (c != ' ' && c != '\t') {
      literal += c;
      continue;
    }
    result += escaped(literal);
    literal.clear();
    if (!result.ends_with(R"(\s+)")) result += R"(\s+)";
  }
  return result + escaped(literal);
}

struct Pattern {
  std::string expression;
  bool has_placeholder = false;
};

Pattern pattern_of(std::string_view line) {
  Pattern pattern;
  while (!line.empty()) {
    const size_t open = line.find('<');
    const size_t close = open == std::string_view::npos ? open : line.find('>', open);
    if (close == std::string_view::npos) break;
    std::string_view word = line.substr(open + 1, close - open - 1);
    std::string expression;
    size_t end = close + 1;
    if (word.starts_with("re:")) {
      // To the last '>' of the line: an expression may hold one itself.
      const size_t last = line.rfind('>');
      expression = "(?:" + std::string(line.substr(open + 4, last - open - 4)) + ")";
      end = last + 1;
    } else if (auto found = placeholders().find(word); found != placeholders().end()) {
      expression = found->second;
    } else {
      // "<none>" and its like are kubectl's own.
      pattern.expression += escaped_with_spaces(line.substr(0, open + 1));
      line.remove_prefix(open + 1);
      continue;
    }
    pattern.has_placeholder = true;
    pattern.expression += escaped_with_spaces(line.substr(0, open)) + expression;
    line.remove_prefix(end);
  }
  pattern.expression += escaped_with_spaces(line);
  return pattern;
}

std::string_view without_trailing_space(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

// "[1.36 embedded] rest": the words, and the rest. Only words that can hold count: other lines that
// begin with a bracket are what they are.
std::vector<std::string> take_restriction(std::string& line) {
  if (!line.starts_with('[')) return {};
  const size_t close = line.find(']');
  if (close == std::string::npos) return {};
  std::vector<std::string> words;
  for (const std::string_view word : split(std::string_view(line).substr(1, close - 1), ' ')) {
    const bool is_version = word.starts_with("1.") && parse_integer(word.substr(2)).has_value();
    if (!is_version && word != "embedded" && word != "real") return {};
    words.emplace_back(word);
  }
  line = line.substr(
      std::min(close + (line.size() > close + 1 && line[close + 1] == ' ' ? 2 : 1), line.size()));
  return words;
}

// Expected lines that would read as something else are written with a backslash in front.
bool needs_backslash(std::string_view line) {
  for (const std::string_view mark : {"$", "#", "! ", "? ", "<<< ", "\\"}) {
    if (line.starts_with(mark)) return true;
  }
  std::string copy(line);
  return line == "!" || !take_restriction(copy).empty();
}

class Parser {
 public:
  Parser(std::string_view name, std::string_view text) {
    transcript_.name = name;
    for (const std::string_view line : split(text, '\n')) transcript_.lines.emplace_back(line);
    if (!transcript_.lines.empty() && transcript_.lines.back().empty())
      transcript_.lines.pop_back();
  }

  Result<Transcript> parse() {
    for (at_ = 0; at_ < transcript_.lines.size(); ++at_) {
      if (auto ok = take(transcript_.lines[at_]); !ok) {
        return fail(ok.error().at(fmt::format("{}:{}", transcript_.name, at_ + 1)));
      }
    }
    trim_steps();
    return std::move(transcript_);
  }

 private:
  Result<void> take(std::string line) {
    if (line.starts_with('#')) return end_step();
    std::vector<std::string> only = take_restriction(line);
    if (line.starts_with("<<< ")) return take_file(line.substr(4), std::move(only));
    if (line.starts_with('$')) return take_instruction(line.substr(1), std::move(only));
    if (trim(line).empty() && !in_step_) return {};
    if (!in_step_) return fail(ErrorKind::invalid, "output without a command before it");
    Step& step = transcript_.steps.back();
    step.last = at_ + 1;
    if (line.starts_with("? ")) {
      auto code = parse_integer(trim(line.substr(2)));
      if (!code) return fail(ErrorKind::invalid, "an exit code must be a number");
      step.exit_code = static_cast<int>(*code);
    } else if (line == "!" || line.starts_with("! ")) {
      step.error.push_back({std::move(only), line.substr(std::min<size_t>(2, line.size()))});
    } else {
      if (line.starts_with('\\')) line.erase(0, 1);
      step.output.push_back({std::move(only), std::move(line)});
    }
    return {};
  }

  Result<void> end_step() {
    in_step_ = false;
    return {};
  }

  Result<void> take_instruction(std::string_view text, std::vector<std::string> only) {
    in_step_ = false;
    const size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    std::string rest(space == std::string_view::npos ? "" : trim(text.substr(space)));
    // A command goes on in the next line after a backslash, as in a shell.
    while (rest.ends_with('\\') && at_ + 1 < transcript_.lines.size()) {
      rest += "\n" + transcript_.lines[++at_];
    }
    if (rest.empty()) return fail(ErrorKind::invalid, "an instruction without its object");
    if (word == "only") {
      for (const std::string_view one : split(rest, ' ')) transcript_.only.emplace_back(one);
      return {};
    }
    if (word == "cleanup") {
      transcript_.clean_up.push_back(rest);
      return {};
    }
    static const std::map<std::string_view, Action> actions = {
        {"", Action::run},      {"start", Action::start},   {"await", Action::await},
        {"stop", Action::stop}, {"finish", Action::finish}, {"until", Action::until},
    };
    auto found = actions.find(word);
    if (found == actions.end()) {
      return failf(ErrorKind::invalid, "there is no instruction ${}", word);
    }
    Step step;
    step.action = found->second;
    step.only = std::move(only);
    step.line = at_ + 1;
    step.first = step.last = at_ + 1;
    if (step.action == Action::run || step.action == Action::until) {
      step.command = std::move(rest);
    } else {
      const size_t name_end = rest.find(' ');
      step.name = rest.substr(0, name_end);
      if (name_end != std::string::npos) step.command = trim(rest.substr(name_end));
      const bool is_start = step.action == Action::start;
      if (is_start && step.command.empty()) return fail(ErrorKind::invalid, "$start NAME COMMAND");
      if (!is_start && !step.command.empty()) return failf(ErrorKind::invalid, "${} NAME", word);
      if (is_start) background_.insert(step.name);
      if (!background_.contains(step.name)) {
        return failf(ErrorKind::invalid, "no command was started as {}", step.name);
      }
    }
    transcript_.steps.push_back(std::move(step));
    in_step_ = true;
    return {};
  }

  Result<void> take_file(std::string_view name, std::vector<std::string> only) {
    in_step_ = false;
    Step step;
    step.action = Action::file;
    step.only = std::move(only);
    step.name = trim(name);
    step.line = at_ + 1;
    const bool leaves = step.name.find("..") != std::string::npos || step.name.starts_with('/');
    if (step.name.empty() || leaves) return fail(ErrorKind::invalid, "<<< wants a plain file name");
    while (++at_ < transcript_.lines.size() && transcript_.lines[at_] != ">>>") {
      step.command += transcript_.lines[at_] + "\n";
    }
    if (at_ >= transcript_.lines.size()) {
      at_ = transcript_.lines.size() - 1;  // the last line there is, not the one after it
      return fail(ErrorKind::invalid, "the file has no >>>");
    }
    transcript_.steps.push_back(std::move(step));
    return {};
  }

  // Empty lines between a command's output and the next command are for the reader.
  void trim_steps() {
    for (Step& step : transcript_.steps) {
      while (!step.output.empty() && trim(step.output.back().text).empty() &&
             step.last > step.first && trim(transcript_.lines[step.last - 1]).empty()) {
        step.output.pop_back();
        --step.last;
      }
    }
  }

  Transcript transcript_;
  size_t at_ = 0;
  bool in_step_ = false;
  std::set<std::string> background_;
};

bool matches_from(const std::vector<std::string>& expected, size_t at_expected,
                  const std::vector<std::string>& actual, size_t at_actual) {
  while (at_expected < expected.size()) {
    if (expected[at_expected] == "...") {
      for (size_t skip = at_actual; skip <= actual.size(); ++skip) {
        if (matches_from(expected, at_expected + 1, actual, skip)) return true;
      }
      return false;
    }
    if (at_actual == actual.size() || !line_matches(expected[at_expected], actual[at_actual])) {
      return false;
    }
    ++at_expected;
    ++at_actual;
  }
  return at_actual == actual.size();
}

std::string with_placeholders(const std::string& line) {
  static const std::vector<std::pair<std::regex, std::string>> varying = {
      {std::regex(time_text), "<time>"},
      {std::regex(date), "<date>"},
      {std::regex(uid), "<uid>"},
      {std::regex(R"((resourceVersion"?: "?)\d+)"), "$1<version>"},
      {std::regex(R"((Resource Version: +)\d+)"), "$1<version>"},
      {std::regex(R"((^|\s)(?:\d+[smhd]){1,2}(?=[\s)]|$))"), "$1<age>"},
  };
  std::string result = line;
  for (const auto& [expression, replacement] : varying) {
    result = std::regex_replace(result, expression, replacement);
  }
  return result;
}

}  // namespace

Result<Transcript> parse_transcript(std::string_view name, std::string_view text) {
  return Parser(name, text).parse();
}

bool Setting::holds(const std::vector<std::string>& only) const {
  bool asks_version = false, version = false, asks_server = false, server = false;
  for (const std::string& word : only) {
    const bool is_server = word == "embedded" || word == "real";
    (is_server ? asks_server : asks_version) = true;
    if (words_.contains(word)) (is_server ? server : version) = true;
  }
  return (!asks_version || version) && (!asks_server || server);
}

std::vector<std::string> expected_lines(const std::vector<Line>& lines, const Setting& setting) {
  std::vector<std::string> result;
  for (const Line& line : lines) {
    if (setting.holds(line.only)) result.emplace_back(without_trailing_space(line.text));
  }
  return result;
}

std::vector<std::string> tidy_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) {
    lines.emplace_back(without_trailing_space(line));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

bool line_matches(const std::string& expected, const std::string& actual) {
  if (expected == actual) return true;
  if (expected.find('<') == std::string::npos) return false;
  const Pattern pattern = pattern_of(expected);
  if (!pattern.has_placeholder) return false;
  return std::regex_match(actual, std::regex(pattern.expression));
}

bool output_matches(const std::vector<std::string>& expected, const std::string& actual) {
  return matches_from(expected, 0, tidy_lines(actual), 0);
}

std::string without_log_lines(std::string_view text) {
  auto is_log_line = [](std::string_view line) {
    return line.size() > 20 && std::string_view("IWEF").find(line[0]) != std::string_view::npos &&
           std::all_of(line.begin() + 1, line.begin() + 5,
                       [](char c) { return c >= '0' && c <= '9'; }) &&
           line[5] == ' ' && line[8] == ':' && line[11] == ':';
  };
  std::string kept;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    if (!is_log_line(text.substr(0, end))) kept += text.substr(0, end + 1);
    text.remove_prefix(end + 1);
  }
  return kept;
}

std::string difference(const std::vector<std::string>& expected, const std::string& actual) {
  if (output_matches(expected, actual)) return {};
  const std::vector<std::string> lines = tidy_lines(actual);
  // What agrees from the top and from the bottom is context; the rest differs.
  size_t top = 0;
  while (top < expected.size() && top < lines.size() && expected[top] != "..." &&
         line_matches(expected[top], lines[top])) {
    ++top;
  }
  size_t bottom = 0;
  while (bottom < expected.size() - top && bottom < lines.size() - top &&
         expected[expected.size() - 1 - bottom] != "..." &&
         line_matches(expected[expected.size() - 1 - bottom], lines[lines.size() - 1 - bottom])) {
    ++bottom;
  }
  std::string text;
  for (size_t at = 0; at < top; ++at) text += "      " + lines[at] + "\n";
  for (size_t at = top; at < expected.size() - bottom; ++at) text += "    - " + expected[at] + "\n";
  for (size_t at = top; at < lines.size() - bottom; ++at) text += "    + " + lines[at] + "\n";
  for (size_t at = lines.size() - bottom; at < lines.size(); ++at)
    text += "      " + lines[at] + "\n";
  return text;
}

std::vector<std::string> as_expectation(const std::string& output, const std::string& error,
                                        int exit_code) {
  std::vector<std::string> lines;
  for (const std::string& line : tidy_lines(output)) {
    lines.push_back((needs_backslash(line) ? "\\" : "") + with_placeholders(line));
  }
  for (const std::string& line : tidy_lines(error)) {
    lines.push_back(line.empty() ? "!" : "! " + with_placeholders(line));
  }
  if (exit_code != 0) lines.push_back(fmt::format("? {}", exit_code));
  return lines;
}

}  // namespace lockstep::suite
