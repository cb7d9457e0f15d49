#include "sim/strict_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::sim {

namespace {

std::optional<double> number_of(const Json& json) {
  if (json.is_int64()) return static_cast<double>(json.get_int64());
  if (json.is_double()) return json.get_double();
  return std::nullopt;
}

}  // namespace

StrictReader::StrictReader(const Json& json, std::string path, std::optional<Error>& error)
    : json_(json), path_(std::move(path)), error_(error) {
  if (!json_.is_object()) complain(path_, "must be a map");
}

StrictReader::~StrictReader() {
  if (!json_.is_object()) return;
  for (const auto& [name, value] : json_.get_object()) {
    std::string key(name);
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    auto near = nearest(key, known_);
    complain(path_, fmt::format("has the unknown key {}{}", key,
                                near ? "; did you mean " + *near + "?" : ""));
  }
}

const Json* StrictReader::get(const std::string& key) {
  known_.push_back(key);
  return json_.is_object() ? find(json_, key) : nullptr;
}

std::string StrictReader::path(const std::string& key) const {
  return path_.empty() ? key : path_ + "." + key;
}

void StrictReader::complain(const std::string& where, const std::string& what) {
  if (!error_) error_ = Error{ErrorKind::invalid, what, where};
}

void StrictReader::text(const std::string& key, std::string& into) {
  const Json* value = get(key);
  if (value == nullptr) return;
  if (!value->is_string()) return complain(path(key), "must be a text; put it in quotes");
  into = std::string(value->get_string());
}

void StrictReader::word(const std::string& key, std::string& into,
                        const std::vector<std::string>& known, std::string_view what) {
  if (get(key) == nullptr) return;
  std::string word;
  text(key, word);
  if (error_) return;
  if (std::find(known.begin(), known.end(), word) == known.end()) {
    constexpr size_t readable = 12;
    std::string help;
    if (auto near = nearest(word, known)) {
      help = "; did you mean " + *near + "?";
    } else if (known.size() <= readable) {
      help = "; there are " + join(known, ", ");
    }
    return complain(path(key),
                    fmt::format("{} is no {}{}", word.empty() ? "\"\"" : word, what, help));
  }
  into = std::move(word);
}

void StrictReader::flag(const std::string& key, bool& into) {
  const Json* value = get(key);
  if (value == nullptr) return;
  if (!value->is_bool()) return complain(path(key), "must be true or false");
  into = value->get_bool();
}

void StrictReader::decimal(const std::string& key, double& into) {
  const Json* value = get(key);
  if (value == nullptr) return;
  auto number = number_of(*value);
  if (!number) return complain(path(key), "must be a number");
  if (*number < 0) return complain(path(key), "must be 0 or more");
  into = *number;
}

void StrictReader::chance(const std::string& key, double& into) {
  const Json* value = get(key);
  if (value == nullptr) return;
  auto number = number_of(*value);
  if (!number || *number < 0 || *number > 1) {
    return complain(path(key), "must be a chance from 0 to 1");
  }
  into = *number;
}

void StrictReader::duration(const std::string& key, Duration& into) {
  const Json* value = get(key);
  if (value == nullptr) return;
  auto read = parse_duration(as_text(value));
  if (!value->is_string() || !read || *read < Duration(0)) {
    return complain(path(key), "must be a length of time such as 90s or 1h30m");
  }
  into = *read;
}

void StrictReader::range(const std::string& key, Duration& least, Duration& most) {
  const Json* value = get(key);
  if (value == nullptr) return;
  std::vector<std::string_view> parts = split(as_text(value), '-');
  auto from = parse_duration(trim(parts.front()));
  auto to = parse_duration(trim(parts.back()));
  if (!value->is_string() || !from || !to || parts.size() > 2 || *from > *to) {
    return complain(path(key), "must be a length of time or a range such as 60s-120s");
  }
  least = *from;
  most = *to;
}

void StrictReader::share(const std::string& key, IntOrPercent& into) {
  const Json* value = get(key);
  if (value == nullptr) return;
  std::string_view text = as_text(value);
  auto percent = parse_integer(text.substr(0, text.find('%')));
  constexpr int64_t most = 1'000'000;
  // Above 100% makes sense here: so many pods for each node.
  constexpr int64_t most_percent = 10'000;
  if (percent && text.ends_with('%') && *percent >= 0 && *percent <= most_percent) {
    into = IntOrPercent::percentage(*percent);
  } else if (value->is_int64() && value->get_int64() >= 0 && value->get_int64() <= most) {
    into = IntOrPercent::count(value->get_int64());
  } else {
    complain(path(key),
             "must be a whole number up to 1000000, or a percentage of the nodes such as \"50%\", "
             "up to 10000%");
  }
}

}  // namespace lockstep::sim
