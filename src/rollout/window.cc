#include "rollout/window.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::rollout {

namespace {

constexpr std::array<std::string_view, 7> day_names = {"Sun", "Mon", "Tue", "Wed",
                                                       "Thu", "Fri", "Sat"};
constexpr int minutes_of_day = 24 * 60;

std::optional<int> parse_clock(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  auto hour = parse_unsigned(text.substr(0, 2));
  auto minute = parse_unsigned(text.substr(3));
  if (!hour || !minute || *minute > 59) return std::nullopt;
  int clock = static_cast<int>(*hour * 60 + *minute);
  if (*hour > 24 || clock > minutes_of_day) return std::nullopt;
  return clock;
}

std::string format_clock(int minutes) {
  return fmt::format("{:02}:{:02}", minutes / 60, minutes % 60);
}

// By what the clock on the wall shows.
bool is_open_at(const Window& window, const LocalTime& local) {
  int now = local.minute_of_day();
  auto today = static_cast<size_t>(local.weekday);
  if (window.from < window.to) {
    return window.days[today] && now >= window.from && now < window.to;
  }
  size_t yesterday = (today + 6) % 7;
  return (window.days[today] && now >= window.from) || (window.days[yesterday] && now < window.to);
}

}  // namespace

std::string Window::text() const {
  std::vector<std::string> names;
  for (size_t day = 1; day <= days.size(); ++day) {
    if (days[day % 7]) names.emplace_back(day_names[day % 7]);
  }
  return fmt::format("{} {}-{} {}", names.size() == 7 ? "every day" : join(names, ", "),
                     format_clock(from), format_clock(to), time_zone);
}

Result<Window> read_window(const Json& json) {
  if (!json.is_object()) return fail(ErrorKind::invalid, "must be a map");
  Window window;
  for (const auto& [key, value] : json.get_object()) {
    std::string name(key);
    if (name == "days") {
      if (!value.is_array()) return fail(ErrorKind::invalid, "must be a list of days", "days");
      window.days.fill(false);
      for (const Json& entry : value.get_array()) {
        auto at = std::find(day_names.begin(), day_names.end(), as_text(&entry));
        if (at == day_names.end()) {
          return fail(
              ErrorKind::invalid,
              fmt::format("{} is no day: Mon, Tue, Wed, Thu, Fri, Sat, Sun", print_json(entry)),
              "days");
        }
        window.days[static_cast<size_t>(at - day_names.begin())] = true;
      }
    } else if (name == "from" || name == "to") {
      auto clock = parse_clock(as_text(&value));
      if (!clock) return fail(ErrorKind::invalid, "must be a time such as \"22:00\"", name);
      (name == "from" ? window.from : window.to) = *clock;
    } else if (name == "timeZone") {
      window.time_zone = std::string(as_text(&value));
      if (window.time_zone.empty()) return fail(ErrorKind::invalid, "must be a text", name);
    } else {
      return fail(ErrorKind::invalid, "is not known: there are days, from, to and timeZone", name);
    }
  }
  if (window.from == window.to) {
    return fail(ErrorKind::invalid, "from and to are the same: the window is never open");
  }
  return window;
}

WindowState look_at_windows(const std::vector<Window>& windows, const TimeZones& zones, Time now) {
  WindowState state;
  if (windows.empty()) return state;
  std::vector<TimeZone> of_window;
  for (const Window& window : windows) {
    auto zone =
        window.time_zone == "UTC" ? Result<TimeZone>(TimeZone::utc()) : zones(window.time_zone);
    if (!zone) return {false, now + minutes(10), zone.error().at("time zone " + window.time_zone)};
    of_window.push_back(std::move(*zone));
  }
  auto open_at = [&](Time time) {
    for (size_t i = 0; i < windows.size(); ++i) {
      if (is_open_at(windows[i], of_window[i].local(time))) return true;
    }
    return false;
  };
  state.open = open_at(now);
  // Windows begin and end at full minutes, and clocks change at full minutes too. A week and the
  // hour that a change of clocks may take away cover every case.
  Time minute = Time::from_unix(now.unix_seconds() - now.unix_seconds() % 60);
  constexpr int most = 8 * minutes_of_day;
  for (int i = 1; i <= most; ++i) {
    Time time = minute + minutes(i);
    if (open_at(time) != state.open) {
      state.until = time;
      return state;
    }
  }
  return state;
}

}  // namespace lockstep::rollout
