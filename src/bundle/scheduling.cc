#include "bundle/scheduling.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "bundle/value_path.h"

namespace lockstep::bundle {

namespace {

constexpr std::array<std::string_view, 3> effects = {"NoExecute", "NoSchedule", "PreferNoSchedule"};

Error wrong(std::string_view flag, std::string_view text, std::string what) {
  return Error{ErrorKind::invalid, std::move(what), fmt::format("{} {}", flag, text)};
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// What Kubernetes takes as a label's value, or as its key without the prefix.
bool is_label_text(std::string_view text) {
  return text.size() <= 63 && is_letter_or_digit(text.front()) && is_letter_or_digit(text.back()) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
         });
}

bool is_label_key(std::string_view key) {
  size_t slash = key.rfind('/');
  std::string_view name = slash == std::string_view::npos ? key : key.substr(slash + 1);
  if (name.empty() || !is_label_text(name)) return false;
  if (slash == std::string_view::npos) return true;
  std::string_view prefix = key.substr(0, slash);
  auto label = [](std::string_view part) {
    return !part.empty() && is_label_text(part) && part.find('_') == std::string_view::npos &&
           lower(part) == part;
  };
  auto parts = split(prefix, '.');
  return prefix.size() <= 253 && std::all_of(parts.begin(), parts.end(), label);
}

Result<void> check_label(std::string_view flag, std::string_view text, std::string_view key,
                         std::string_view value) {
  if (!is_label_key(key)) {
    return fail(wrong(flag, text,
                      fmt::format("\"{}\" is no key of a label: letters, digits, \"-\", \"_\" and "
                                  "\".\", after an optional domain and \"/\"",
                                  key)));
  }
  if (!value.empty() && !is_label_text(value)) {
    return fail(wrong(flag, text,
                      fmt::format("\"{}\" is no value of a label: at most 63 letters, digits, "
                                  "\"-\", \"_\" and \".\"",
                                  value)));
  }
  return {};
}

struct KeyValueEffect {
  std::string key;
  std::optional<std::string> value;
  std::string effect;
};

Result<KeyValueEffect> parse_effect(std::string_view flag, std::string_view text) {
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return fail(wrong(flag, text, "no effect: must be key=value:Effect or key:Effect"));
  }
  KeyValueEffect parsed;
  parsed.effect = text.substr(colon + 1);
  if (std::find(effects.begin(), effects.end(), parsed.effect) == effects.end()) {
    std::vector<std::string> known(effects.begin(), effects.end());
    return fail(wrong(flag, text, unknown_word("effect", parsed.effect, known)));
  }
  std::string_view label = text.substr(0, colon);
  size_t equals = label.find('=');
  parsed.key = label.substr(0, equals);
  if (equals != std::string_view::npos) parsed.value = label.substr(equals + 1);
  LOCKSTEP_CHECK(check_label(flag, text, parsed.key, parsed.value.value_or("")));
  return parsed;
}

Json labels_json(const NodeLabels& labels) {
  JsonObject object;
  for (const auto& [key, value] : labels) object[key] = value;
  return object;
}

Json tolerations_json(const std::vector<Toleration>& tolerations) {
  JsonArray array;
  for (const Toleration& toleration : tolerations) {
    JsonObject object;
    if (!toleration.key.empty()) object["key"] = toleration.key;
    object["operator"] = toleration.op;
    if (!toleration.value.empty()) object["value"] = toleration.value;
    if (!toleration.effect.empty()) object["effect"] = toleration.effect;
    array.emplace_back(std::move(object));
  }
  if (array.empty()) array.emplace_back(JsonObject{{"operator", "Exists"}});
  return array;
}

Json taint_json(const Taint& taint) {
  JsonObject object;
  object["key"] = taint.key;
  if (!taint.value.empty()) object["value"] = taint.value;
  object["effect"] = taint.effect;
  return object;
}

Result<void> write(const Component& entry, const std::vector<std::string>& paths, const Json& value,
                   JsonObject& values) {
  for (const std::string& text : paths) {
    auto path = parse_value_path(text);
    if (!path) return fail(path.error().at(entry.place.text()));
    auto set = set_value(values, *path, value);
    if (!set) return fail(set.error().at(fmt::format("scheduling of {}", entry.name)));
  }
  return {};
}

Result<void> write_labels(const Component& entry, const std::vector<std::string>& paths,
                          const NodeLabels& labels, JsonObject& values) {
  if (labels.empty()) return {};
  return write(entry, paths, labels_json(labels), values);
}

}  // namespace

Result<void> add_label(std::string_view flag, std::string_view text, NodeLabels& labels) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos) return fail(wrong(flag, text, "must be key=value"));
  std::string key(text.substr(0, equals));
  std::string value(text.substr(equals + 1));
  LOCKSTEP_CHECK(check_label(flag, text, key, value));
  auto [at, inserted] = labels.emplace(key, value);
  if (!inserted && at->second != value) {
    return fail(
        wrong(flag, text,
              fmt::format("{} was given as \"{}\" before: no node has both", key, at->second)));
  }
  return {};
}

Result<Toleration> parse_toleration(std::string_view flag, std::string_view text) {
  LOCKSTEP_TRY(KeyValueEffect parsed, parse_effect(flag, text));
  return Toleration{.key = std::move(parsed.key),
                    .op = parsed.value ? "Equal" : "Exists",
                    .value = parsed.value.value_or(""),
                    .effect = std::move(parsed.effect)};
}

Result<Taint> parse_taint(std::string_view flag, std::string_view text) {
  LOCKSTEP_TRY(KeyValueEffect parsed, parse_effect(flag, text));
  return Taint{.key = std::move(parsed.key),
               .value = parsed.value.value_or(""),
               .effect = std::move(parsed.effect)};
}

std::string print_taint(const Taint& taint) {
  if (taint.value.empty()) return fmt::format("{}:{}", taint.key, taint.effect);
  return fmt::format("{}={}:{}", taint.key, taint.value, taint.effect);
}

Result<void> apply_scheduling(const Component& entry, const SchedulingFlags& flags,
                              JsonObject& values) {
  const SchedulingPaths& system = entry.system;
  const SchedulingPaths& accelerated = entry.accelerated;
  LOCKSTEP_CHECK(write_labels(entry, system.node_selectors, flags.system_node_selector, values));
  LOCKSTEP_CHECK(
      write(entry, system.tolerations, tolerations_json(flags.system_tolerations), values));
  LOCKSTEP_CHECK(
      write_labels(entry, accelerated.node_selectors, flags.accelerated_node_selector, values));
  LOCKSTEP_CHECK(write(entry, accelerated.tolerations,
                       tolerations_json(flags.accelerated_tolerations), values));
  LOCKSTEP_CHECK(
      write_labels(entry, entry.workload_selector_paths, flags.workload_selector, values));
  if (flags.workload_gate) {
    LOCKSTEP_CHECK(write(entry, accelerated.taints, taint_json(*flags.workload_gate), values));
    Json text(print_taint(*flags.workload_gate));
    LOCKSTEP_CHECK(write(entry, accelerated.taint_texts, text, values));
  }
  if (flags.nodes > 0) {
    LOCKSTEP_CHECK(write(entry, entry.node_count_paths, Json(flags.nodes), values));
  }
  return {};
}

}  // namespace lockstep::bundle
