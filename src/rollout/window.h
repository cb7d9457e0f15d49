// Maintenance windows: on which days, from when to when by the clocks of a place. A window that
// ends before it begins runs into the next day and belongs to the day on which it began.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "data/strict_reader.h"
#include "rollout/time_zone.h"

namespace lockstep::rollout {

struct Window {
  std::array<bool, 7> days{true, true, true, true, true, true, true};  // from Sunday
  int from = 0;                                                        // minutes of the day
  int to = 24 * 60;
  std::string time_zone = "UTC";

  // "Sat, Sun 22:00-06:00 Europe/Berlin".
  std::string text() const;
  bool operator==(const Window&) const = default;
};

// {days: [Sat, Sun], from: "22:00", to: "06:00", timeZone: Europe/Berlin}
Window read_window(StrictReader& reader);

// The zone with that name, or why it is missing.
using TimeZones = std::function<Result<TimeZone>(const std::string& name)>;

struct WindowState {
  bool open = true;
  // When that changes next; not set: never.
  Time until;
  // Why it is not known: a zone that cannot be read. Then nothing is open.
  std::optional<Error> error;
};

// Whether one of them is open; without any, always.
WindowState look_at_windows(const std::vector<Window>& windows, const TimeZones& zones, Time now);

}  // namespace lockstep::rollout
