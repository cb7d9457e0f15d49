#include "doctor/redact.h"

#include <algorithm>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "base/strings.h"
#include "doctor/kept_fields.h"

namespace lockstep::doctor {

namespace {

// The lists of kept_fields.h as a tree: what may be below a key.
struct Place {
  Shape shape = Shape::none;
  std::map<std::string, Place, std::less<>> fields;
};
constexpr std::string_view item_key = "[]";

Place& below(Place& root, std::string_view path) {
  Place* place = &root;
  for (std::string_view part : split(path, '.')) {
    const bool list = part.ends_with(item_key);
    if (list) part.remove_suffix(item_key.size());
    place = &place->fields[std::string(part)];
    if (list) place = &place->fields[std::string(item_key)];
  }
  return *place;
}

Place make_tree(std::string_view resource) {
  Place root;
  for (const KeptPart& part : kept_parts(resource)) {
    for (const KeptField& field : part.fields) {
      below(root, std::string(part.at) + std::string(field.path)).shape = field.shape;
    }
  }
  return root;
}

const Place& tree_of(std::string_view resource) {
  static const std::map<std::string, Place, std::less<>> trees = [] {
    std::map<std::string, Place, std::less<>> made;
    for (std::string_view each : kept_resources()) made.emplace(each, make_tree(each));
    return made;
  }();
  static const Place nothing;
  const auto found = trees.find(resource);
  return found == trees.end() ? nothing : found->second;
}

constexpr size_t longest_name = 253;
constexpr size_t longest_line = 512;

bool is_clean(std::string_view text) { return redact_text(text) == text; }

template <typename Test>
bool each_is(std::string_view text, Test test) {
  return std::all_of(text.begin(), text.end(), test);
}
bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || is_digit(c); }
bool is_alphanumeric(char c) { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }

bool is_name(std::string_view text) {
  return text.size() <= longest_name && is_clean(text) && each_is(text, [](char c) {
           return is_lower_or_digit(c) || c == '-' || c == '.' || c == ':';
         });
}

bool is_word(std::string_view text) {
  return text.size() <= longest_name && is_clean(text) && each_is(text, [](char c) {
           return is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '/';
         });
}

bool is_plain_line(std::string_view text) {
  return text.size() <= longest_line && is_clean(text) &&
         each_is(text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

bool is_uuid(std::string_view text) {
  return text.size() == 36 &&
         each_is(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || c == '-'; });
}

Json length_of(std::string_view text) {
  return Json(fmt::format("(removed, {} characters)", text.size()));
}

Json type_of(const Json& value) {
  if (value.is_string()) return length_of(as_text(&value));
  if (value.is_object()) return Json("(removed, a map)");
  if (value.is_array()) return Json("(removed, a list)");
  return Json("(removed, a number)");
}

bool is_number(const Json& value) {
  return !value.is_string() && !value.is_object() && !value.is_array();
}

bool fits(std::string_view text, Shape shape) {
  switch (shape) {
    case Shape::name:
      return is_name(text);
    case Shape::word:
      return is_word(text);
    case Shape::plain:
    case Shape::scalar:
      return is_plain_line(text);
    case Shape::uuid:
      return is_uuid(text);
    default:
      return false;
  }
}

void note_removed(JsonObject& kept, size_t count) {
  if (count > 0) kept[removed] = fmt::format("{} field{}", count, count == 1 ? "" : "s");
}

// A map with arbitrary keys: `keep` says which entries stay, and as what.
template <typename Keep>
Json keep_entries(const Json& value, Keep keep) {
  if (!value.is_object()) return type_of(value);
  JsonObject kept;
  size_t dropped = 0;
  for (const auto& [key, entry] : value.as_object()) {
    Json seen = is_word(key) ? keep(std::string_view(key), entry) : Json(nullptr);
    if (seen.is_null()) {
      ++dropped;
    } else {
      kept[key] = std::move(seen);
    }
  }
  note_removed(kept, dropped);
  return kept;
}

Json keep_plain(const Json& value) {
  if (is_number(value)) return value;
  return value.is_string() && is_plain_line(as_text(&value)) ? value : type_of(value);
}

// "8", "250m", "1024Gi", of a resource whose name says its domain or that every cluster has.
Json keep_amount(std::string_view key, const Json& value) {
  const bool is_known = key == "cpu" || key == "memory" || key == "pods" ||
                        key == "ephemeral-storage" || key.starts_with("hugepages-") ||
                        key.find('/') != std::string_view::npos;
  if (!is_known) return nullptr;
  if (is_number(value)) return value;
  const std::string_view text = as_text(&value);
  const size_t unit = text.find_first_not_of("0123456789.");
  const bool is_quantity =
      !text.empty() && text.size() <= 24 && is_digit(text.front()) &&
      (unit == std::string_view::npos ||
       (text.size() - unit <= 2 && each_is(text.substr(unit), is_alphanumeric)));
  return is_quantity ? value : type_of(value);
}

Json keep_text(const Json& value) {
  return value.is_string() ? Json(redact_text(as_text(&value))) : type_of(value);
}

Json keep_note(std::string_view key, const Json& value) {
  const std::string_view domain = key.substr(0, key.find('/'));
  if (domain == "lockstep.dev" || domain.ends_with(".lockstep.dev")) return keep_text(value);
  if (domain == "nvidia.com" || domain.ends_with(".nvidia.com") ||
      key == "deployment.kubernetes.io/revision")
    return keep_plain(value);
  return nullptr;
}

// "--log-level" of "--log-level=debug"; of another word only its length.
Json keep_option(const Json& value) {
  const std::string_view text = as_text(&value);
  const std::string_view flag = text.substr(0, text.find('='));
  const bool is_long =
      flag.starts_with("--") && flag.size() > 2 && flag.size() <= 64 &&
      each_is(flag.substr(2), [](char c) { return is_lower_or_digit(c) || c == '-'; });
  if (!is_long || holds_opaque_token(flag)) return type_of(value);
  return flag.size() == text.size() ? value : Json(fmt::format("{}={}", flag, removed));
}

Json keep_options(const Json& value) {
  const JsonArray* list = array_of(&value);
  if (list == nullptr) return type_of(value);
  JsonArray kept;
  for (const Json& option : *list) kept.push_back(keep_option(option));
  return kept;
}

Json keep_as(const Json& value, Shape shape, bool ours);

Json keep(const Json& value, const Place& place, bool ours) {
  if (value.is_object() && place.shape <= Shape::text && !place.fields.empty()) {
    JsonObject kept;
    size_t dropped = 0;
    for (const auto& [key, field] : value.as_object()) {
      const auto found = place.fields.find(std::string_view(key));
      if (found == place.fields.end() || found->first == item_key) {
        ++dropped;
      } else {
        kept[key] = keep(field, found->second, ours);
      }
    }
    note_removed(kept, dropped);
    return kept;
  }
  const auto items = place.fields.find(item_key);
  if (value.is_array() && items != place.fields.end()) {
    JsonArray kept;
    for (const Json& item : value.as_array()) kept.push_back(keep(item, items->second, ours));
    return kept;
  }
  return keep_as(value, place.shape, ours);
}

Json keep_as(const Json& value, Shape shape, bool ours) {
  if (value.is_null()) return value;
  switch (shape) {
    case Shape::labels:
      return keep_entries(value, [](std::string_view key, const Json& entry) {
        return is_kept_label(key) ? keep_plain(entry) : Json(nullptr);
      });
    case Shape::notes:
      return keep_entries(value, keep_note);
    case Shape::amounts:
      return keep_entries(value, keep_amount);
    case Shape::settings:
      return keep_entries(value, [ours](std::string_view, const Json& entry) {
        return ours ? keep_text(entry) : Json(nullptr);
      });
    case Shape::options:
      return keep_options(value);
    case Shape::text:
      return keep_text(value);
    case Shape::number:
    case Shape::scalar:
      if (is_number(value)) return value;
      break;
    default:
      break;
  }
  return value.is_string() && fits(as_text(&value), shape) ? value : type_of(value);
}

}  // namespace

Json redact_object(std::string_view resource, const Json& object) {
  if (!object.is_object()) return type_of(object);
  const bool ours = text_at(object, "metadata", "name").starts_with("lockstep-");
  return keep(object, tree_of(resource), ours);
}

Json redact_report(const Json& document) {
  if (document.is_string()) return Json(redact_text(as_text(&document)));
  if (document.is_array()) {
    JsonArray items;
    for (const Json& item : document.as_array()) items.push_back(redact_report(item));
    return items;
  }
  if (!document.is_object()) return document;
  JsonObject kept;
  for (const auto& [key, value] : document.as_object()) {
    kept[redact_text(key)] = redact_report(value);
  }
  return kept;
}

}  // namespace lockstep::doctor
