#include "bundle/value_path.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::bundle {

namespace {

constexpr size_t shown_bytes = 60;

std::string shown(const Json& value) {
  std::string text = print_json(value);
  if (text.size() <= shown_bytes) return text;
  // Not in the middle of a character.
  size_t end = shown_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

Result<void> refuse_step(const ValuePath& path, size_t steps, const Json& found) {
  std::string whole = print_value_path(path);
  std::string blocked = print_value_path(ValuePath(path.begin(), path.begin() + steps));
  if (found.is_array()) {
    return failf(ErrorKind::invalid,
                 "{} leads into a list: {} is {}; set the whole list with --set-json", whole,
                 blocked, shown(found));
  }
  return failf(ErrorKind::invalid, "{} leads through a value that is not a map: {} is {}", whole,
               blocked, shown(found));
}

}  // namespace

Result<ValuePath> parse_value_path(std::string_view text) {
  ValuePath path(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') {
      path.emplace_back();
    } else if (text[i] == '[') {
      return failf(ErrorKind::invalid,
                   "the path \"{}\" has an index: set the list as a whole, with --set-json (a key "
                   "with a bracket is written \\[)",
                   text);
    } else if (text[i] != '\\') {
      path.back() += text[i];
    } else if (++i == text.size()) {
      return failf(ErrorKind::invalid,
                   "the path \"{}\" ends in a backslash: \\\\ is a backslash, \\. a dot", text);
    } else {
      path.back() += text[i];
    }
  }
  if (std::any_of(path.begin(), path.end(), [](const std::string& key) { return key.empty(); })) {
    return failf(
        ErrorKind::invalid,
        "the path \"{}\" has an empty key: keys are separated by one dot, and \\. is a dot "
        "inside a key",
        text);
  }
  return path;
}

std::string print_value_path(const ValuePath& path) {
  std::string text;
  for (const std::string& key : path) {
    if (!text.empty()) text += '.';
    for (char c : key) {
      if (c == '.' || c == '\\' || c == '[' || c == '=') text += '\\';
      text += c;
    }
  }
  return text;
}

const Json* find_value(const JsonObject& values, const ValuePath& path) {
  if (path.empty()) return nullptr;
  const Json* at = find(values, path.front());
  for (size_t i = 1; i < path.size() && at != nullptr; ++i) at = find(*at, path[i]);
  return at;
}

bool overlap(const ValuePath& a, const ValuePath& b) {
  size_t shorter = std::min(a.size(), b.size());
  return std::equal(a.begin(), a.begin() + shorter, b.begin());
}

Result<void> set_value(JsonObject& values, const ValuePath& path, Json value) {
  // First the whole way, so that an error leaves no half-made maps.
  const JsonObject* seen = &values;
  for (size_t i = 0; i + 1 < path.size() && seen != nullptr; ++i) {
    const Json* next = find(*seen, path[i]);
    if (next == nullptr || next->is_null()) {
      seen = nullptr;
    } else if (!next->is_object()) {
      return refuse_step(path, i + 1, *next);
    } else {
      seen = &next->get_object();
    }
  }
  JsonObject* at = &values;
  for (size_t i = 0; i + 1 < path.size(); ++i) at = &ensure_object(*at, path[i]);
  at->insert_or_assign(path.back(), std::move(value));
  return {};
}

}  // namespace lockstep::bundle
