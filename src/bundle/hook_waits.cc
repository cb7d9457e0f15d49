#include "bundle/hook_waits.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "base/time.h"

namespace lockstep::bundle {

namespace {

// Between the end of the waits and the Job's deadline: starting, settling, a second try to connect.
constexpr int64_t slack_seconds = 240;

Result<int64_t> seconds_at(const JsonObject& hook, const ValuePath& path) {
  const Json* value = find_value(hook, path);
  if (value != nullptr && value->is_int64()) return value->get_int64();
  auto duration = parse_duration(as_text(value));
  if (!duration) return fail(duration.error().at(print_value_path(path)));
  return std::chrono::duration_cast<std::chrono::seconds>(*duration).count();
}

// How many nodes may have their driver restarted at a time: a number (0: no limit) or "25%".
Result<int64_t> most_at_a_time(const TurnLimit& limit, const JsonObject& component, int64_t nodes) {
  const Json* value = find_value(component, limit.value);
  std::string text = value == nullptr || value->is_null() ? limit.default_text
                     : value->is_string()                 ? std::string(as_text(value))
                                                          : print_json(*value);
  const bool is_percent = text.ends_with('%');
  auto number = parse_unsigned(is_percent ? text.substr(0, text.size() - 1) : text);
  if (!number) {
    return fail(
        ErrorKind::invalid,
        fmt::format("must be a whole number or a percentage such as 25%, and is \"{}\"", text),
        print_value_path(limit.value));
  }
  const auto most = static_cast<int64_t>(std::min<uint64_t>(*number, 1'000'000));
  if (is_percent) return std::max<int64_t>(1, (most * nodes + 99) / 100);
  return most == 0 ? nodes : most;
}

}  // namespace

Result<FittedWaits> fit_waits(const HookRule& rule, const JsonObject& component, const Json& own,
                              int64_t nodes, JsonObject& hook) {
  const HookWaits& waits = *rule.waits;
  FittedWaits fitted;
  LOCKSTEP_TRY(fitted.driver_seconds, seconds_at(hook, waits.driver));
  LOCKSTEP_TRY(fitted.plugin_seconds, seconds_at(hook, waits.plugin));
  auto is_set = [&](const ValuePath& path) {
    return own.is_object() && find_value(own.get_object(), path) != nullptr;
  };
  if (!is_set(waits.driver) && nodes > 0) {
    int64_t at_a_time = nodes;
    for (const TurnLimit& limit : waits.limits) {
      LOCKSTEP_TRY(int64_t most, most_at_a_time(limit, component, nodes));
      at_a_time = std::min(at_a_time, most);
    }
    const int64_t turns = (nodes + at_a_time - 1) / at_a_time;
    fitted.driver_seconds = std::max(fitted.driver_seconds, turns * waits.turn_seconds);
    LOCKSTEP_CHECK(
        set_value(hook, waits.driver, Json(format_duration(seconds(fitted.driver_seconds)))));
  } else if (!is_set(waits.driver)) {
    fitted.warning = fmt::format(
        "hook {}: the number of nodes is not known, so it waits {} for their drivers, which is "
        "enough for {} turns. Say it with --nodes, or set {}:{}.{}",
        rule.name, format_duration(seconds(fitted.driver_seconds)),
        fitted.driver_seconds / std::max<int64_t>(1, waits.turn_seconds), rule.component,
        rule.values_key, print_value_path(waits.driver));
  }
  if (is_set(waits.deadline)) {
    LOCKSTEP_TRY(fitted.deadline_seconds, seconds_at(hook, waits.deadline));
  } else {
    fitted.deadline_seconds = fitted.driver_seconds + fitted.plugin_seconds + slack_seconds;
    LOCKSTEP_CHECK(set_value(hook, waits.deadline, Json(fitted.deadline_seconds)));
  }
  return fitted;
}

}  // namespace lockstep::bundle
