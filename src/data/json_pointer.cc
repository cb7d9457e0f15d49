#include "data/json_pointer.h"

#include <charconv>

namespace lockstep {

namespace {

Result<std::string> unescape(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '~') {
      out += name[i];
      continue;
    }
    const char next = i + 1 < name.size() ? name[i + 1] : '\0';
    if (next != '0' && next != '1') {
      return failf(ErrorKind::invalid, "'~' must be followed by '0' or '1' in {:?}",
                   std::string(name));
    }
    out += next == '0' ? '~' : '/';
    ++i;
  }
  return out;
}

std::string escape(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

Result<Json*> step(Json& parent, const JsonPointer& path, size_t index) {
  const std::string& name = path[index];
  if (JsonObject* object = parent.if_object()) {
    if (Json* child = object->if_contains(name)) return child;
    return failf(ErrorKind::invalid, "there is no \"{}\" in {}", name,
                 describe_pointer(path, index));
  }
  if (JsonArray* array = parent.if_array()) {
    const auto position = parse_array_index(name);
    if (!position) {
      return failf(ErrorKind::invalid, "\"{}\" is not an index, and {} is a list", name,
                   describe_pointer(path, index));
    }
    if (*position < array->size()) return &(*array)[*position];
    return failf(ErrorKind::invalid, "there is no item {}: {} has {} items", name,
                 describe_pointer(path, index), array->size());
  }
  return failf(ErrorKind::invalid, "{} is neither an object nor a list",
               describe_pointer(path, index));
}

}  // namespace

Result<JsonPointer> parse_json_pointer(std::string_view text) {
  JsonPointer path;
  if (text.empty()) return path;
  if (text.front() != '/') {
    return failf(ErrorKind::invalid, "a path begins with '/', not like \"{}\"", text);
  }
  while (!text.empty()) {
    text.remove_prefix(1);
    const size_t length = std::min(text.find('/'), text.size());
    LOCKSTEP_TRY(std::string name, unescape(text.substr(0, length)));
    path.push_back(std::move(name));
    text.remove_prefix(length);
  }
  return path;
}

std::string describe_pointer(const JsonPointer& path, size_t count) {
  if (count == 0) return "the document";
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    out += '/';
    out += escape(path[i]);
  }
  return out;
}

std::optional<size_t> parse_array_index(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  size_t value = 0;
  const char* end = text.data() + text.size();
  auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc() || stop != end) return std::nullopt;
  return value;
}

Result<Json*> follow_pointer(Json& document, const JsonPointer& path, size_t count) {
  Json* here = &document;
  for (size_t i = 0; i < count; ++i) {
    LOCKSTEP_TRY(here, step(*here, path, i));
  }
  return here;
}

}  // namespace lockstep
