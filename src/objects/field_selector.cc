#include "objects/field_selector.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep {

namespace {

// At commas that no backslash protects; backslashes stay.
std::vector<std::string_view> split_terms(std::string_view text) {
  std::vector<std::string_view> terms;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == ',') {
      terms.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  terms.push_back(text.substr(std::min(begin, text.size())));
  return terms;
}

Result<std::string> unescape(std::string_view text) {
  std::string value;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == ',' || c == '=') {
      return failf(ErrorKind::invalid, "invalid field selector: unescaped character in value: {}",
                   static_cast<int>(c));
    }
    if (c != '\\') {
      value += c;
      continue;
    }
    char next = ++i < text.size() ? text[i] : '\0';
    if (next != '\\' && next != ',' && next != '=') {
      return failf(ErrorKind::invalid, "invalid field selector: invalid escape sequence: {}",
                   text.substr(i - 1, 2));
    }
    value += next;
  }
  return value;
}

std::string escape(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '\\' || c == ',' || c == '=') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

const Json* find_path(const Json& object, std::string_view path) {
  const Json* at = &object;
  for (std::string_view step : split(path, '.')) {
    at = find(*at, step);
    if (at == nullptr) return nullptr;
  }
  return at;
}

bool has_value(const Json* field, std::string_view value) {
  if (field == nullptr || field->is_null()) {
    return value.empty() || value == "false" || value == "0";
  }
  if (field->is_string()) return as_text(field) == value;
  return field->is_primitive() && print_json(*field) == value;
}

}  // namespace

Result<FieldSelector> FieldSelector::parse(std::string_view text) {
  FieldSelector selector;
  for (std::string_view term : split_terms(text)) {
    if (term.empty()) continue;
    size_t at = term.find('=');
    bool not_equal = at != std::string_view::npos && at > 0 && term[at - 1] == '!';
    if (at == std::string_view::npos) {
      return failf(ErrorKind::invalid, "invalid selector: '{}'; can't understand '{}'", text, term);
    }
    std::string_view path = term.substr(0, not_equal ? at - 1 : at);
    std::string_view value = term.substr(at + 1);
    if (!not_equal && value.starts_with('=')) value.remove_prefix(1);
    LOCKSTEP_TRY(std::string plain, unescape(value));
    selector.requirements_.push_back(Requirement{std::string(path), !not_equal, std::move(plain)});
  }
  return selector;
}

bool FieldSelector::matches_object(const Json& object) const {
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& each) {
    return has_value(find_path(object, each.path), each.value) == each.equal;
  });
}

std::string FieldSelector::text() const {
  std::vector<std::string> terms;
  for (const Requirement& requirement : requirements_) {
    terms.push_back(requirement.path + (requirement.equal ? "=" : "!=") +
                    escape(requirement.value));
  }
  return join(terms, ",");
}

}  // namespace lockstep
