// Reads what people write in a rollout's spec: field by field, with all that is wrong put down by
// its path.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "base/time.h"
#include "data/json.h"

namespace lockstep::rollout {

// Reads a map field by field; what is wrong is put down with its path, and so is what is unknown.
class Fields {
 public:
  Fields(const Json& json, std::string path, std::vector<std::string>& problems)
      : json_(json), path_(std::move(path)), problems_(problems) {
    if (!json.is_object()) complain("", "must be a map");
  }
  ~Fields() {
    if (!json_.is_object()) return;
    for (const auto& [key, value] : json_.get_object()) {
      std::string name(key);
      if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
      auto near = nearest(name, known_);
      complain(name, near ? fmt::format("is not known; did you mean {}?", *near) : "is not known");
    }
  }
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  const Json* get(const std::string& key) {
    known_.push_back(key);
    const Json* value = json_.is_object() ? find(json_, key) : nullptr;
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  std::string path(const std::string& key) const { return key.empty() ? path_ : path_ + "." + key; }
  void complain(const std::string& key, std::string_view what) {
    problems_.push_back(fmt::format("{} {}", path(key), what));
  }
  std::vector<std::string>& problems() { return problems_; }

  void text(const std::string& key, std::string& into) {
    const Json* value = get(key);
    if (value == nullptr) return;
    if (!value->is_string()) return complain(key, "must be a text");
    into = std::string(as_text(value));
  }
  void flag(const std::string& key, bool& into) {
    const Json* value = get(key);
    if (value == nullptr) return;
    if (!value->is_bool()) return complain(key, "must be true or false");
    into = value->get_bool();
  }
  std::optional<int64_t> number(const std::string& key, int64_t least, int64_t most) {
    const Json* value = get(key);
    if (value == nullptr) return std::nullopt;
    int64_t number = as_integer(value, least - 1);
    if (number >= least && number <= most) return number;
    complain(key, fmt::format("must be a whole number from {} to {}, and is {}", least, most,
                              print_json(*value)));
    return std::nullopt;
  }
  void decimal(const std::string& key, double least, double most, double& into) {
    const Json* value = get(key);
    if (value == nullptr) return;
    bool is_number = value->is_int64() || value->is_uint64() || value->is_double();
    double number = is_number ? as_number(*value) : least - 1;
    if (number < least || number > most) {
      return complain(key, fmt::format("must be a number from {} to {}", least, most));
    }
    into = number;
  }
  void duration(const std::string& key, Duration& into) {
    const Json* value = get(key);
    if (value == nullptr) return;
    auto length = parse_duration(as_text(value));
    if (!value->is_string() || !length || *length < Duration::zero()) {
      return complain(key, "must be a length of time such as 48h or 90m");
    }
    into = *length;
  }
  // Each entry with its path.
  void list(const std::string& key, const std::function<void(const Json&, std::string)>& each) {
    const Json* value = get(key);
    if (value == nullptr) return;
    if (!value->is_array()) return complain(key, "must be a list");
    size_t index = 0;
    for (const Json& entry : value->get_array()) {
      each(entry, fmt::format("{}[{}]", path(key), index++));
    }
  }

 private:
  const Json& json_;
  std::string path_;
  std::vector<std::string>& problems_;
  std::vector<std::string> known_;
};

}  // namespace lockstep::rollout
