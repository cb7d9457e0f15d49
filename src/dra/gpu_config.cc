#include "dra/gpu_config.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "objects/names.h"

namespace lockstep::dra {

namespace {

constexpr std::string_view api_version = "gpu.lockstep.dev/v1alpha1";
constexpr std::string_view config_kind = "GpuConfig";

template <typename Value>
struct Word {
  std::string_view text;
  Value value;
};
constexpr Word<Sharing> sharings[] = {{"Exclusive", Sharing::exclusive},
                                      {"TimeSlicing", Sharing::time_slicing}};
constexpr Word<TimeSlice> slices[] = {{"Default", TimeSlice::usual},
                                      {"Short", TimeSlice::brief},
                                      {"Medium", TimeSlice::medium},
                                      {"Long", TimeSlice::extended}};

template <typename Value, size_t Count>
std::string_view text_of(const Word<Value> (&words)[Count], Value value) {
  for (const auto& word : words) {
    if (word.value == value) return word.text;
  }
  return "";
}

Result<const JsonObject*> object_at(const Json& json, const std::string& place) {
  if (json.is_object()) return &json.get_object();
  return fail(ErrorKind::invalid, "must be an object", place);
}

Result<void> check_fields(const JsonObject& object, const std::vector<std::string>& known,
                          const std::string& place) {
  for (const auto& [key, value] : object) {
    std::string name{std::string_view(key)};
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    auto near = nearest(name, known);
    return fail(ErrorKind::invalid,
                near ? fmt::format("unknown field; did you mean {}?", *near)
                     : fmt::format("unknown field; there are {}", join(known, ", ")),
                place.empty() ? name : place + "." + name);
  }
  return {};
}

// Null: it is not there.
const Json* value_of(const JsonObject& object, std::string_view key) {
  const Json* value = find(object, key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<void> check_text(const JsonObject& object, std::string_view key, std::string_view wanted) {
  const Json* value = value_of(object, key);
  if (value != nullptr && as_text(value) == wanted && value->is_string()) return {};
  return fail(ErrorKind::invalid, fmt::format("must be {}", wanted), std::string(key));
}

template <typename Value, size_t Count>
Result<Value> word_of(const Word<Value> (&words)[Count], const Json& json,
                      const std::string& place) {
  std::vector<std::string> known;
  for (const auto& word : words) {
    if (json.is_string() && as_text(&json) == word.text) return word.value;
    known.emplace_back(word.text);
  }
  std::string given = json.is_string() ? quoted(as_text(&json)) : std::string("this");
  return fail(ErrorKind::invalid, fmt::format("{} is none of {}", given, join(known, ", ")), place);
}

Result<void> read_time_slicing(const Json& json, GpuConfig& config) {
  const std::string place = "sharing.timeSlicing";
  LOCKSTEP_TRY(const JsonObject* object, object_at(json, place));
  LOCKSTEP_CHECK(check_fields(*object, {"interval"}, place));
  config.interval = TimeSlice::usual;
  if (const Json* interval = value_of(*object, "interval")) {
    LOCKSTEP_TRY(config.interval, word_of(slices, *interval, place + ".interval"));
  }
  return {};
}

Result<void> read_sharing(const Json& json, GpuConfig& config) {
  LOCKSTEP_TRY(const JsonObject* object, object_at(json, "sharing"));
  LOCKSTEP_CHECK(check_fields(*object, {"strategy", "timeSlicing"}, "sharing"));
  const Json* strategy = value_of(*object, "strategy");
  if (strategy == nullptr) {
    return fail(ErrorKind::invalid, "says how, and must be there", "sharing.strategy");
  }
  LOCKSTEP_TRY(config.sharing, word_of(sharings, *strategy, "sharing.strategy"));
  const Json* slicing = value_of(*object, "timeSlicing");
  if (slicing == nullptr) return {};
  if (config.sharing != Sharing::time_slicing) {
    return fail(ErrorKind::invalid,
                fmt::format("has no meaning with strategy {}", to_string(config.sharing)),
                "sharing.timeSlicing");
  }
  return read_time_slicing(*slicing, config);
}

bool is_variable_name(std::string_view name) {
  auto is_fine = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && !(name.front() >= '0' && name.front() <= '9') &&
         std::all_of(name.begin(), name.end(), is_fine);
}

// What we or the container runtime set ourselves.
bool is_taken(std::string_view name) {
  return name.starts_with("LOCKSTEP_") || name.starts_with("NVIDIA_") || name.starts_with("LD_");
}

Result<void> read_environment(const Json& json, GpuConfig& config) {
  LOCKSTEP_TRY(const JsonObject* object, object_at(json, "environment"));
  for (const auto& [key, value] : *object) {
    std::string name{std::string_view(key)};
    std::string place = "environment." + name;
    if (!is_variable_name(name)) {
      return fail(ErrorKind::invalid, "is no name of a variable", place);
    }
    if (is_taken(name)) return fail(ErrorKind::invalid, "is not for a claim to set", place);
    bool is_text = value.is_string() && as_text(&value).find('\0') == std::string_view::npos;
    if (!is_text) return fail(ErrorKind::invalid, "must be a text", place);
    config.environment.emplace(name, as_text(&value));
  }
  return {};
}

}  // namespace

std::string_view to_string(Sharing sharing) { return text_of(sharings, sharing); }
std::string_view to_string(TimeSlice slice) { return text_of(slices, slice); }

std::optional<TimeSlice> time_slice_of(std::string_view word) {
  for (const auto& known : slices) {
    if (known.text == word) return known.value;
  }
  return std::nullopt;
}

Result<GpuConfig> decode_gpu_config(const Json& parameters) {
  LOCKSTEP_TRY(const JsonObject* object, object_at(parameters, "parameters"));
  // Before the fields: of another kind all of them would be unknown.
  LOCKSTEP_CHECK(check_text(*object, "apiVersion", api_version));
  LOCKSTEP_CHECK(check_text(*object, "kind", config_kind));
  LOCKSTEP_CHECK(check_fields(*object, {"apiVersion", "kind", "sharing", "environment"}, ""));
  GpuConfig config;
  if (const Json* sharing = value_of(*object, "sharing")) {
    LOCKSTEP_CHECK(read_sharing(*sharing, config));
  }
  if (const Json* environment = value_of(*object, "environment")) {
    LOCKSTEP_CHECK(read_environment(*environment, config));
  }
  return config;
}

}  // namespace lockstep::dra
