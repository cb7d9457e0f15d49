#include "bundle/strict_object.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/yaml.h"

namespace lockstep::bundle {

namespace {

std::string_view kind_of(const Json& value) {
  if (value.is_object()) return "a map";
  if (value.is_array()) return "a list";
  if (value.is_bool()) return "true or false";
  if (value.is_number()) return "a number";
  return value.is_null() ? "null" : "text";
}

}  // namespace

Result<YamlFile> YamlFile::parse(std::string name, std::string text) {
  YamlFile file{std::make_shared<SourceText>(SourceText{std::move(name), std::move(text)}), {}};
  LOCKSTEP_TRY(file.json, parse_yaml(file.text(), file.name()));
  return file;
}

Result<YamlFile> YamlFile::from_json(std::string name, std::string text, std::string_view json) {
  YamlFile file{std::make_shared<SourceText>(SourceText{std::move(name), std::move(text)}), {}};
  LOCKSTEP_TRY(file.json, parse_json(json));
  return file;
}

StrictObject::StrictObject(const YamlFile& file) : StrictObject(file, file.json, {}) {}

StrictObject::StrictObject(const YamlFile& file, const Json& json, YamlPath path)
    : file_(file), json_(json), path_(std::move(path)) {
  if (!json_.is_object()) {
    error_ = Error{ErrorKind::invalid, fmt::format("must be a map, and is {}", kind_of(json_)),
                   Place(file_.source, path_).text()};
  }
}

StrictObject& StrictObject::text(std::string_view key, std::string& into) {
  const Json* value = take(key);
  if (value == nullptr) return *this;
  auto text = scalar(*value, path_to(key));
  if (!text) {
    refuse(key, fmt::format("must be text, and is {}", kind_of(*value)));
  } else {
    into = *text;
  }
  return *this;
}

StrictObject& StrictObject::boolean(std::string_view key, bool& into) {
  const Json* value = take(key);
  if (value == nullptr) return *this;
  if (!value->is_bool()) {
    refuse(key, fmt::format("must be true or false, and is {}", kind_of(*value)));
  } else {
    into = value->get_bool();
  }
  return *this;
}

StrictObject& StrictObject::count(std::string_view key, int64_t& into) {
  const Json* value = take(key);
  if (value == nullptr) return *this;
  if (!value->is_int64() || value->get_int64() < 0) {
    refuse(key, fmt::format("must be a whole number, 0 or more, and is {}", print_json(*value)));
  } else {
    into = value->get_int64();
  }
  return *this;
}

StrictObject& StrictObject::texts(std::string_view key, std::vector<std::string>& into) {
  const Json* value = take(key);
  if (value == nullptr) return *this;
  if (!value->is_array()) {
    refuse(key, fmt::format("must be a list, and is {}", kind_of(*value)));
    return *this;
  }
  std::vector<std::string> read;
  for (size_t i = 0; i < value->get_array().size(); ++i) {
    YamlPath path = path_to(key);
    path.push_back(std::to_string(i));
    auto text = scalar(value->get_array()[i], path);
    if (!text) {
      refuse(key, fmt::format("must be a list of texts, and item {} is {}", i + 1,
                              kind_of(value->get_array()[i])));
      return *this;
    }
    read.push_back(*text);
  }
  into = std::move(read);
  return *this;
}

StrictObject& StrictObject::map(std::string_view key, JsonObject& into) {
  const Json* value = take(key);
  if (value == nullptr) return *this;
  if (!value->is_object()) {
    refuse(key, fmt::format("must be a map, and is {}", kind_of(*value)));
  } else {
    into = value->get_object();
  }
  return *this;
}

StrictObject& StrictObject::within(std::string_view key, const Reader& read) {
  const Json* value = take(key);
  if (value == nullptr) return *this;
  StrictObject child(file_, *value, path_to(key));
  if (!child.error_) read(child);
  keep(child.done());
  return *this;
}

StrictObject& StrictObject::each(std::string_view key, const Reader& read) {
  const Json* value = take(key);
  if (value == nullptr) return *this;
  if (!value->is_array()) {
    refuse(key, fmt::format("must be a list, and is {}", kind_of(*value)));
    return *this;
  }
  for (size_t i = 0; i < value->get_array().size() && !error_; ++i) {
    YamlPath path = path_to(key);
    path.push_back(std::to_string(i));
    StrictObject child(file_, value->get_array()[i], std::move(path));
    if (!child.error_) read(child);
    keep(child.done());
  }
  return *this;
}

StrictObject& StrictObject::unused(std::initializer_list<std::string_view> keys) {
  known_.insert(known_.end(), keys.begin(), keys.end());
  return *this;
}

StrictObject& StrictObject::required(std::string_view key) {
  required_.emplace_back(key);
  return *this;
}

void StrictObject::refuse(std::string_view key, std::string what) {
  if (error_) return;
  error_ = Error{ErrorKind::invalid, fmt::format("{} {}", key, what), place(key).text()};
}

void StrictObject::check(std::string_view key, const Result<void>& result) {
  if (!result) refuse(key, result.error().message);
}

bool StrictObject::has(std::string_view key) const {
  const Json* value = find(json_, key);
  return value != nullptr && !value->is_null();
}

Place StrictObject::place(std::string_view key) const {
  return Place(file_.source, key.empty() ? path_ : path_to(key));
}

Result<void> StrictObject::done() {
  // An unknown key before a missing one: the missing "name" is most often the unknown "nmae".
  refuse_unknown();
  for (const std::string& key : required_) {
    const Json* value = find(json_, key);
    if (value == nullptr || value->is_null() || (value->is_string() && as_text(value).empty())) {
      refuse(key, "is missing");
    }
  }
  if (error_) return fail(*error_);
  return {};
}

const Json* StrictObject::take(std::string_view key) {
  known_.emplace_back(key);
  const Json* value = error_ ? nullptr : find(json_, key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

YamlPath StrictObject::path_to(std::string_view key) const {
  YamlPath path = path_;
  path.emplace_back(key);
  return path;
}

void StrictObject::keep(const Result<void>& result) {
  if (!error_ && !result) error_ = result.error();
}

void StrictObject::refuse_unknown() {
  if (error_ || !json_.is_object()) return;
  for (const auto& [key, value] : json_.get_object()) {
    std::string name(key);
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    error_ = Error{ErrorKind::invalid,
                   fmt::format("unknown key \"{}\": {}", name, suggestion(name, known_)),
                   place(name).text()};
    return;
  }
}

// Numbers and booleans are taken as they are written, as AICR's reader takes them.
std::optional<std::string> StrictObject::scalar(const Json& value, const YamlPath& path) const {
  if (value.is_string()) return std::string(as_text(&value));
  if (value.is_object() || value.is_array() || value.is_null()) return std::nullopt;
  return scalar_text(file_.text(), path);
}

Result<void> read_strictly(const YamlFile& file, const StrictObject::Reader& read) {
  StrictObject object(file);
  if (file.json.is_object()) read(object);
  return object.done();
}

std::string suggestion(std::string_view word, std::vector<std::string> known) {
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  if (auto near = nearest(word, known)) return fmt::format("did you mean \"{}\"?", *near);
  return known.empty() ? "none is known" : "known are " + join(known, ", ");
}

Result<void> check_name(std::string_view name) {
  auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  bool good = !name.empty() && name.size() <= 63 && plain(name.front()) && plain(name.back()) &&
              std::all_of(name.begin(), name.end(), [&](char c) { return plain(c) || c == '-'; });
  if (good) return {};
  return failf(ErrorKind::invalid,
               "must be 1 to 63 small letters, digits and \"-\", beginning and ending with a "
               "letter or digit, and is {}",
               print_json(Json(JsonString(name))));
}

}  // namespace lockstep::bundle
