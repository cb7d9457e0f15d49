#include "bundle/settings.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::bundle {

namespace {

struct Flag {
  std::string_view name;
  std::string_view example;
};

Flag flag_of(SettingKind kind) {
  switch (kind) {
    case SettingKind::text:
      return {"--set-string", "gpu-operator:driver.version=580.10"};
    case SettingKind::json:
      return {"--set-json", R"(gpu-operator:daemonsets.tolerations=[{"operator":"Exists"}])"};
    case SettingKind::typed:
      break;
  }
  return {"--set", "gpu-operator:driver.enabled=false"};
}

// The number whose text this is, if it is the text of one.
std::optional<Json> number_of(std::string_view text) {
  if (auto integer = parse_integer(text)) {
    // Helm reads the numbers of a values file as doubles.
    constexpr int64_t exact = int64_t{1} << 53;
    if (*integer > exact || *integer < -exact) return std::nullopt;
    Json number(*integer);
    if (print_json(number) == text) return number;
    return std::nullopt;
  }
  double value = 0;
  auto [end, problem] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  Json number(value);
  if (print_json(number) != text) return std::nullopt;
  // What is too long for an integer would be rounded when it is read again.
  if (text.find('.') == std::string_view::npos) return std::nullopt;
  return number;
}

Json typed(std::string_view text) {
  if (equal_ignoring_case(text, "true")) return Json(true);
  if (equal_ignoring_case(text, "false")) return Json(false);
  if (equal_ignoring_case(text, "null")) return Json(nullptr);
  if (auto number = number_of(text)) return *number;
  return Json(JsonString(text));
}

Result<Json> value_of(std::string_view text, SettingKind kind) {
  if (kind == SettingKind::typed) return typed(text);
  if (kind == SettingKind::text) return Json(JsonString(text));
  auto value = parse_json(text);
  if (!value) {
    return failf(ErrorKind::invalid, "the value is no JSON: {} (text needs double quotes)",
                 value.error().text());
  }
  return std::move(*value);
}

// The first "=" that no backslash protects.
size_t end_of_path(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '=') {
      return i;
    }
  }
  return std::string_view::npos;
}

Result<Setting> parse(std::string_view text, SettingKind kind) {
  size_t colon = text.find_first_of(":=");
  if (colon == std::string_view::npos || text[colon] != ':') {
    return failf(ErrorKind::invalid, "no component: a colon must separate it from the path");
  }
  if (colon == 0) return failf(ErrorKind::invalid, "no component before the colon");
  std::string_view rest = text.substr(colon + 1);
  if (rest.starts_with('=')) {
    return failf(ErrorKind::invalid, "no path between the colon and the \"=\"");
  }
  LOCKSTEP_TRY(Assignment assignment, parse_assignment(rest, kind));
  if (!is_valid_utf8(text)) return failf(ErrorKind::invalid, "the text is not UTF-8");
  Setting setting;
  setting.component = text.substr(0, colon);
  setting.path = std::move(assignment.path);
  setting.value = std::move(assignment.value);
  return setting;
}

}  // namespace

Result<Assignment> parse_assignment(std::string_view text, SettingKind kind) {
  size_t equals = end_of_path(text);
  if (equals == std::string_view::npos) {
    return failf(ErrorKind::invalid, "no value: a \"=\" must follow the path");
  }
  if (equals == 0) return failf(ErrorKind::invalid, "no path before the \"=\"");
  if (!is_valid_utf8(text)) return failf(ErrorKind::invalid, "the text is not UTF-8");
  Assignment assignment;
  LOCKSTEP_TRY(assignment.path, parse_value_path(text.substr(0, equals)));
  LOCKSTEP_TRY(assignment.value, value_of(text.substr(equals + 1), kind));
  return assignment;
}

Result<Setting> parse_setting(std::string_view text, SettingKind kind) {
  Flag flag = flag_of(kind);
  std::string written = fmt::format("{} {}", flag.name, text);
  auto setting = parse(text, kind);
  if (!setting) {
    return fail(ErrorKind::invalid,
                fmt::format("{}; like {} {}", setting.error().message, flag.name, flag.example),
                written);
  }
  setting->written = std::move(written);
  return setting;
}

bool is_switch(const Setting& setting) {
  return setting.path.size() == 1 && setting.path.front() == "enabled";
}

Result<void> apply_settings(const Registry& registry, const std::vector<Setting>& settings,
                            ValuesMap& values) {
  for (const Setting& setting : settings) {
    auto component = registry.named(setting.component);
    if (!component) return fail(component.error().at(setting.written));
    if (is_switch(setting)) continue;
    auto at = values.find((*component)->name);
    if (at == values.end()) {
      std::vector<std::string> there;
      for (const auto& [name, unused] : values) there.push_back(name);
      return fail(ErrorKind::invalid,
                  fmt::format("{} is disabled or not in the recipe; there are {}",
                              (*component)->name, join(there, ", ")),
                  setting.written);
    }
    auto set = set_value(at->second, setting.path, setting.value);
    if (!set) return fail(set.error().at(setting.written));
  }
  return {};
}

}  // namespace lockstep::bundle
