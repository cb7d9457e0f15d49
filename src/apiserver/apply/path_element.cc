#include "apiserver/apply/path_element.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Go's order of values of different types: numbers, strings, booleans, lists, maps, null.
int type_rank(const Json& value) {
  if (value.is_number()) return 0;
  if (value.is_string()) return 1;
  if (value.is_bool()) return 2;
  if (value.is_array()) return 3;
  if (value.is_object()) return 4;
  return 5;
}

std::strong_ordering order_of(int comparison) { return comparison <=> 0; }

std::strong_ordering compare_values(const Json& a, const Json& b) {
  if (type_rank(a) != type_rank(b)) return type_rank(a) <=> type_rank(b);
  if (a.is_number()) {
    if (a.is_int64() && b.is_int64()) return a.get_int64() <=> b.get_int64();
    const double left = as_number(a), right = as_number(b);
    return left < right   ? std::strong_ordering::less
           : left > right ? std::strong_ordering::greater
                          : std::strong_ordering::equal;
  }
  if (a.is_string()) return order_of(as_text(&a).compare(as_text(&b)));
  if (a.is_bool()) return a.get_bool() <=> b.get_bool();
  return order_of(print_json(a).compare(print_json(b)));
}

// Keys are sorted objects: name by name, each with its value.
std::strong_ordering compare_keys(const Json& a, const Json& b) {
  if (!a.is_object() || !b.is_object()) return compare_values(a, b);
  auto left = a.get_object().begin();
  auto right = b.get_object().begin();
  for (; left != a.get_object().end() && right != b.get_object().end(); ++left, ++right) {
    const auto names = order_of(std::string_view(left->key()).compare(right->key()));
    if (names != 0) return names;
    const auto values = compare_values(left->value(), right->value());
    if (values != 0) return values;
  }
  return a.get_object().size() <=> b.get_object().size();
}

// Two texts that first differ in plain letters differ inside a string, where bytes decide. That is
// the case for nearly all keys and spares us reading them.
std::optional<std::strong_ordering> compare_quickly(std::string_view a, std::string_view b) {
  const size_t shorter = std::min(a.size(), b.size());
  for (size_t i = 0; i < shorter; ++i) {
    if (a[i] == '\\') return std::nullopt;
    if (a[i] == b[i]) continue;
    if (!is_letter(a[i]) || !is_letter(b[i])) return std::nullopt;
    return a[i] <=> b[i];
  }
  return std::nullopt;
}

std::strong_ordering compare_json_texts(std::string_view a, std::string_view b) {
  if (const auto quick = compare_quickly(a, b)) return *quick;
  const Result<Json> left = parse_json(a), right = parse_json(b);
  if (left && right) {
    const auto order = compare_keys(*left, *right);
    if (order != 0) return order;
  }
  return order_of(a.compare(b));
}

void append_canonical(const Json& value, std::string& out) {
  if (value.is_object()) {
    std::vector<std::string_view> names;
    for (const auto& member : value.get_object()) names.push_back(member.key());
    std::sort(names.begin(), names.end());
    out += '{';
    for (const std::string_view name : names) {
      if (out.back() != '{') out += ',';
      append_canonical(Json(name), out);
      out += ':';
      append_canonical(*find(value, name), out);
    }
    out += '}';
    return;
  }
  if (value.is_array()) {
    out += '[';
    for (const Json& item : value.get_array()) {
      if (out.back() != '[') out += ',';
      append_canonical(item, out);
    }
    out += ']';
    return;
  }
  for (const char c : print_json(value)) {
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", c);
    } else {
      out += c;
    }
  }
}

std::string readable_value(const Json& value) { return print_json(value); }

}  // namespace

std::string canonical_json(const Json& value) {
  std::string out;
  append_canonical(value, out);
  return out;
}

PathElement PathElement::field(std::string_view name) { return {Kind::field, std::string(name)}; }

PathElement PathElement::value(const Json& value) { return {Kind::value, canonical_json(value)}; }

PathElement PathElement::index(size_t index) { return {Kind::index, std::to_string(index)}; }

Result<std::optional<PathElement>> PathElement::decode(std::string_view text) {
  if (text.size() < 2 || text[1] != ':') {
    return failf(ErrorKind::invalid, "{:?} is no field: it has no colon", text);
  }
  const std::string_view content = text.substr(2);
  switch (text[0]) {
    case 'f':
      return field(content);
    case 'i':
      if (!parse_integer(content)) return failf(ErrorKind::invalid, "{:?} is no index", content);
      return PathElement{Kind::index, std::string(content)};
    case 'k':
    case 'v': {
      LOCKSTEP_TRY(const Json parsed, parse_json(content));
      if (text[0] == 'k' && !parsed.is_object()) {
        return failf(ErrorKind::invalid, "{:?} is no key", content);
      }
      return PathElement{text[0] == 'k' ? Kind::key : Kind::value, canonical_json(parsed)};
    }
    default:
      return std::nullopt;
  }
}

std::string PathElement::encoded() const {
  constexpr std::string_view prefixes[] = {"f:", "k:", "v:", "i:"};
  return std::string(prefixes[static_cast<int>(kind)]) + text;
}

std::string PathElement::readable() const {
  if (kind == Kind::field) return "." + text;
  if (kind == Kind::index) return "[" + text + "]";
  const Result<Json> parsed = parse_json(text);
  if (!parsed) return "[" + text + "]";
  if (kind == Kind::value) return "[=" + readable_value(*parsed) + "]";
  std::vector<std::string> parts;
  for (const auto& [name, value] : parsed->get_object()) {
    parts.push_back(fmt::format("{}={}", std::string_view(name), readable_value(value)));
  }
  return "[" + join(parts, ",") + "]";
}

std::strong_ordering PathElement::operator<=>(const PathElement& other) const {
  if (kind != other.kind) return kind <=> other.kind;
  if (text == other.text) return std::strong_ordering::equal;
  if (kind == Kind::field) return order_of(text.compare(other.text));
  return compare_json_texts(text, other.text);
}

std::string readable(const FieldPath& path) {
  std::string text;
  for (const PathElement& element : path) text += element.readable();
  return text;
}

}  // namespace lockstep::apiserver
