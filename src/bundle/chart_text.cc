#include "bundle/chart_text.h"

#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/yaml.h"

namespace lockstep::bundle {

namespace {

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (size_t at = 0;;) {
    const size_t found = text.find(from, at);
    result += text.substr(at, found - at);
    if (found == std::string_view::npos) return result;
    result += to;
    at = found + from.size();
  }
}

// The string as print_yaml writes it as a whole document, without the line's end.
std::string printed(std::string_view text) {
  const std::string line = print_yaml(Json(std::string(text)));
  return std::string(trim(line));
}

// Takes the strings with braces out and leaves marks for them. Keys are not checked: the files for
// which this is made have fixed ones.
void mark_braces(Json& value, std::map<std::string, std::string>& texts) {
  if (value.is_object()) {
    for (auto& item : value.get_object()) mark_braces(item.value(), texts);
  } else if (value.is_array()) {
    for (Json& item : value.get_array()) mark_braces(item, texts);
  } else if (value.is_string() &&
             std::string_view(value.get_string()).find("{{") != std::string_view::npos) {
    const std::string mark = text_mark(fmt::format("braces {}", texts.size()));
    texts[mark] = replace_all(print_json(value), "{", "\\x7b");
    value = mark;
  }
}

}  // namespace

std::string chart_text(std::string_view text) { return replace_all(text, "{{", R"({{ "{{" }})"); }

std::string print_yaml_without_braces(const Json& value) {
  Json copy = value;
  std::map<std::string, std::string> texts;
  mark_braces(copy, texts);
  return replace_marks(print_yaml(copy), texts);
}

std::string text_mark(std::string_view name) { return fmt::format("\x01{}\x01", name); }

std::string replace_marks(std::string yaml, const std::map<std::string, std::string>& texts) {
  for (const auto& [mark, text] : texts) yaml = replace_all(yaml, printed(mark), text);
  return yaml;
}

}  // namespace lockstep::bundle
