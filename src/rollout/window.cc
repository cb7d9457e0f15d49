#include "rollout/window.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::rollout {

namespace {

constexpr std::array<std::string_view, 7> day_names = {"Sun", "Mon", "Tue", "Wed",
                                                       "Thu", "Fri", "Sat"};
constexpr int minutes_of_day = 24 * 60;

Result<int> read_clock(const Json& json) {
  auto wrong = [&] { return fail(strict::not_one("a time such as \"22:00\"", json)); };
  std::string_view text = as_text(&json);
  if (text.size() != 5 || text[2] != ':') return wrong();
  auto hour = parse_unsigned(text.substr(0, 2));
  auto minute = parse_unsigned(text.substr(3));
  if (!hour || *hour > 24 || !minute || *minute > 59) return wrong();
  int clock = static_cast<int>(*hour * 60 + *minute);
  return clock > minutes_of_day ? wrong() : Result<int>(clock);
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

Window read_window(StrictReader& reader) {
  Window window;
  if (reader.has("days")) window.days.fill(false);
  reader.items("days", [&](StrictReader& entry) {
    // In the order of a week.
    static const std::vector<std::string> week = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
    std::string day;
    entry.read(day, [](const Json& json) { return strict::word(json, week); });
    auto at = std::find(day_names.begin(), day_names.end(), day);
    if (at != day_names.end()) window.days[static_cast<size_t>(at - day_names.begin())] = true;
  });
  reader.read("from", window.from, read_clock).read("to", window.to, read_clock);
  reader.text("timeZone", window.time_zone);
  if (window.time_zone.empty()) {
    reader.refuse("timeZone", "must be the name of a time zone such as Europe/Berlin");
  }
  if (window.from == window.to) reader.refuse("from", "must differ from to");
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
