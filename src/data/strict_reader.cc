#include "data/strict_reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep {

namespace {

std::string_view kind_word(const Json& json) {
  switch (json.kind()) {
    case JsonKind::null:
      return "null";
    case JsonKind::bool_:
      return "a boolean";
    case JsonKind::string:
      return "a string";
    case JsonKind::array:
      return "a list";
    case JsonKind::object:
      return "a map";
    default:
      return "a number";
  }
}

// A tenant's key may be of any length, and of any characters.
std::string step_text(std::string_view key) {
  std::string shown = quoted_excerpt(key);
  bool plain = !key.empty() && shown.size() == key.size() + 2;
  return plain ? std::string(key) : shown;
}

void append_step(std::string& field, std::string_view key) {
  if (!field.empty()) field += '.';
  field += step_text(key);
}

}  // namespace

namespace strict {

Error not_a(std::string_view wanted, const Json& json) {
  return {ErrorKind::invalid, fmt::format("must be {}, not {}", wanted, kind_word(json)), {}};
}

Error not_one(std::string_view wanted, const Json& json) {
  if (json.is_structured() || json.is_null()) return not_a(wanted, json);
  std::string found = json.is_string() ? quoted_excerpt(as_text(&json)) : print_json(json);
  return {ErrorKind::invalid, fmt::format("must be {}, not {}", wanted, found), {}};
}

Result<std::string> text(const Json& json) {
  if (json.is_string()) return std::string(as_text(&json));
  // Not its value: it may be a password that lacks its quotes.
  Error error = not_a("a string", json);
  if (json.is_number() || json.is_bool()) error.message += "; put it in quotes";
  return fail(std::move(error));
}

Result<bool> flag(const Json& json) {
  if (json.is_bool()) return json.get_bool();
  return fail(not_a("true or false", json));
}

Result<int64_t> number(const Json& json, int64_t least, int64_t most) {
  if (json.is_int64() && json.get_int64() >= least && json.get_int64() <= most) {
    return json.get_int64();
  }
  const bool is_too_large = json.is_number() && as_number(json) > static_cast<double>(most);
  const bool bounded = is_too_large || most < std::numeric_limits<int32_t>::max();
  return fail(not_one(bounded ? fmt::format("a whole number from {} to {}", least, most)
                              : fmt::format("a whole number, {} or more", least),
                      json));
}

Result<double> decimal(const Json& json, double least, double most) {
  const double value = as_number(json);
  if (json.is_number() && value >= least && value <= most) return value;
  const bool bounded = most < std::numeric_limits<double>::max();
  return fail(not_one(bounded ? fmt::format("a number from {:g} to {:g}", least, most)
                              : fmt::format("a number, {:g} or more", least),
                      json));
}

Result<Duration> duration(const Json& json) {
  if (json.is_string()) {
    auto read = parse_duration(as_text(&json));
    if (read && *read >= Duration::zero()) return *read;
  }
  return fail(not_one("a duration such as 90s or 1h30m", json));
}

Result<std::string> word(const Json& json, const std::vector<std::string>& known) {
  LOCKSTEP_TRY(std::string said, text(json));
  if (std::find(known.begin(), known.end(), said) != known.end()) return said;
  return fail(ErrorKind::invalid, unknown_word("value", said, known));
}

}  // namespace strict

std::string Mistake::text() const { return field.empty() ? message : field + ": " + message; }

Error Mistake::error() const {
  Error error{ErrorKind::invalid, message, field};
  const std::string in_file = place.text();
  if (in_file.empty()) return error;
  return field.empty() ? Error{ErrorKind::invalid, message, in_file} : error.at(in_file);
}

Reading::Reading(std::string root, ReadingRules rules) : root_(std::move(root)), rules_(rules) {}

Reading::Reading(const YamlFile& file, ReadingRules rules) : source_(file.source), rules_(rules) {}

void Reading::map(const Json& json, const ReaderBody& body) {
  StrictReader(*this, json).as_map(body);
}

void Reading::any(const Json& json, const ReaderBody& body) {
  StrictReader reader(*this, json);
  body(reader);
}

Result<void> Reading::result() const {
  if (mistakes_.empty()) return {};
  return fail(mistakes_.front().error());
}

std::vector<std::string> Reading::texts() const {
  std::vector<std::string> texts;
  for (const Mistake& mistake : mistakes_) texts.push_back(mistake.text());
  return texts;
}

void StrictReader::texts(std::vector<std::string>& into) {
  std::vector<std::string> read;
  as_list([&](StrictReader& item) { item.text(read.emplace_back()); });
  if (json_.is_array()) into = std::move(read);
}

StrictReader& StrictReader::texts(std::string_view key, std::vector<std::string>& into) {
  return any(key, [&](StrictReader& list) { list.texts(into); });
}

StrictReader& StrictReader::object(std::string_view key, JsonObject& into) {
  return read(key, into, [](const Json& json) -> Result<JsonObject> {
    if (json.is_object()) return json.get_object();
    return fail(strict::not_a("a map", json));
  });
}

StrictReader& StrictReader::within(std::string_view key, const ReaderBody& body) {
  return any(key, [&](StrictReader& value) { value.as_map(body); });
}

StrictReader& StrictReader::each(std::string_view key, const ReaderBody& body) {
  return items(key, [&](StrictReader& item) { item.as_map(body); });
}

StrictReader& StrictReader::any(std::string_view key, const ReaderBody& body) {
  if (const Json* json = get(key)) {
    StrictReader value(*this, *json, key);
    body(value);
  }
  return *this;
}

StrictReader& StrictReader::items(std::string_view key, const ReaderBody& body) {
  return any(key, [&](StrictReader& list) { list.as_list(body); });
}

bool StrictReader::must_be(std::string_view key, std::string_view wanted, std::string_view advice) {
  required(key, advice.empty() ? fmt::format("set it to {}", wanted) : std::string(advice));
  const Json* json = get(key);
  if (json == nullptr) return false;
  if (json->is_string() && as_text(json) == wanted) return true;
  std::string message = strict::not_one(wanted, *json).message;
  if (!advice.empty()) message += fmt::format("; {}", advice);
  refuse(key, std::move(message));
  return false;
}

StrictReader& StrictReader::required(std::string_view key, std::string_view advice) {
  known_.emplace_back(key);
  required_.emplace_back(key, advice);
  return *this;
}

StrictReader& StrictReader::unused(std::initializer_list<std::string_view> keys) {
  known_.insert(known_.end(), keys.begin(), keys.end());
  return *this;
}

StrictReader& StrictReader::ignore_unknown() {
  ignores_unknown_ = true;
  return *this;
}

void StrictReader::as_map(const ReaderBody& body) {
  if (!json_.is_object()) return refuse(strict::not_a("a map", json_).message);
  body(*this);
  finish();
}

void StrictReader::as_list(const ReaderBody& body) {
  if (!json_.is_array()) return refuse(strict::not_a("a list", json_).message);
  size_t index = 0;
  for (const Json& json : json_.get_array()) {
    StrictReader item(*this, json, index++);
    body(item);
  }
}

void StrictReader::entries(
    const std::function<void(const std::string& name, StrictReader& value)>& body) {
  if (!json_.is_object()) return refuse(strict::not_a("a map", json_).message);
  ignore_unknown();
  for (const auto& [key, json] : json_.get_object()) {
    const std::string name(key);
    StrictReader value(*this, json, name);
    body(name, value);
  }
}

Result<void> StrictReader::apart(const ReaderBody& body) {
  std::vector<Mistake> before = std::exchange(reading_.mistakes_, {});
  body(*this);
  Result<void> result = reading_.result();
  reading_.mistakes_ = std::move(before);
  return result;
}

const Json* StrictReader::get(std::string_view key) {
  known_.emplace_back(key);
  return has(key) ? find(json_, key) : nullptr;
}

bool StrictReader::has(std::string_view key) const {
  const Json* json = find(json_, key);
  return json != nullptr && (!json->is_null() || reading_.rules_.refuse_null);
}

void StrictReader::refuse(std::string_view key, std::string what) {
  if (refused_.emplace(key).second) add(key, std::move(what), false);
}

void StrictReader::refuse(std::string what) {
  if (parent_ != nullptr && !index_) return parent_->refuse(key_, std::move(what));
  if (!std::exchange(is_refused_, true)) add({}, std::move(what), false);
}

void StrictReader::check(std::string_view key, const Result<void>& result) {
  if (!result) refuse(key, result.error().text());
}

bool StrictReader::is_refused(std::string_view key) const { return refused_.contains(key); }

std::string StrictReader::field(std::string_view key) const {
  std::string field = parent_ == nullptr ? reading_.root_ : parent_->field();
  if (index_) field += fmt::format("[{}]", *index_);
  if (!key_.empty()) append_step(field, key_);
  if (!key.empty()) append_step(field, key);
  return field;
}

Place StrictReader::place(std::string_view key) const {
  if (reading_.source_ == nullptr) return {};
  YamlPath to = path();
  if (!key.empty()) to.emplace_back(key);
  return {reading_.source_, std::move(to)};
}

YamlPath StrictReader::path() const {
  YamlPath to = parent_ == nullptr ? YamlPath() : parent_->path();
  if (index_) to.push_back(std::to_string(*index_));
  if (!key_.empty()) to.push_back(key_);
  return to;
}

Result<std::string> StrictReader::scalar(const Json& json, std::string_view key) const {
  const bool plain = json.is_number() || json.is_bool();
  if (!plain || !reading_.rules_.plain_strings || reading_.source_ == nullptr) {
    return strict::text(json);
  }
  YamlPath to = path();
  if (!key.empty()) to.emplace_back(key);
  auto written = scalar_text(reading_.source_->text, to);
  return written ? Result<std::string>(std::move(*written)) : strict::text(json);
}

// A document may be wrong in a million places. Unknown fields leave room for what is worse.
bool StrictReader::has_room(bool is_unknown_field) const {
  constexpr size_t most = 1000;
  return reading_.mistakes_.size() < (is_unknown_field ? most : 2 * most);
}

void StrictReader::add(std::string_view key, std::string message, bool is_unknown_field) {
  if (!has_room(is_unknown_field)) return;
  reading_.mistakes_.push_back({field(key), std::move(message), place(key), is_unknown_field});
}

std::vector<std::string> StrictReader::unknown() const {
  std::vector<std::string> unknown;
  if (ignores_unknown_ || !json_.is_object()) return unknown;
  for (const auto& [key, value] : json_.get_object()) {
    std::string name(key);
    if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
      unknown.push_back(std::move(name));
    }
  }
  return unknown;
}

void StrictReader::finish() {
  std::vector<std::string> known;
  for (const std::string& key : known_) {
    if (std::find(known.begin(), known.end(), key) == known.end()) known.push_back(key);
  }
  for (const std::string& key : unknown()) {
    if (!has_room(true)) break;
    add(key, "unknown field" + suggestion(key, known), true);
  }
  for (const auto& [key, advice] : required_) {
    const Json* json = find(json_, key);
    if (has(key) && !(json->is_string() && as_text(json).empty())) continue;
    refuse(key, advice.empty() ? "is missing" : fmt::format("is missing; {}", advice));
  }
}

Result<void> read_strictly(const YamlFile& file, const ReaderBody& body) {
  Reading reading(file, {.plain_strings = true});
  reading.map(file.json, body);
  return reading.result();
}

}  // namespace lockstep
