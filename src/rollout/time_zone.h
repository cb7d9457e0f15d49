// A time zone, from the bytes of a file of the tz database: how far its clocks are from UTC at any
// time, daylight saving included. Nothing here reads a file; the caller passes the bytes in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace lockstep::rollout {

// A civil time: what a clock on the wall shows.
struct LocalTime {
  int year = 1970;
  int month = 1;    // 1 to 12
  int day = 1;      // 1 to 31
  int weekday = 4;  // 0 is Sunday
  int hour = 0;
  int minute = 0;
  int second = 0;

  int minute_of_day() const { return hour * 60 + minute; }
  bool operator==(const LocalTime&) const = default;
};

class TimeZone {
 public:
  static TimeZone utc();
  // The bytes of /usr/share/zoneinfo/Europe/Berlin: version 2 or later of the format (RFC 9636).
  static Result<TimeZone> from_tzif(std::string_view bytes);

  // A rule of POSIX by itself: "CET-1CEST,M3.5.0,M10.5.0/3".
  static Result<TimeZone> from_rule(std::string_view rule);

  int64_t offset_seconds(Time time) const;
  LocalTime local(Time time) const;

 private:
  struct Change {
    int64_t from;  // unix seconds
    int64_t offset;
  };
  // What holds after the last change in the file, as POSIX writes it: "CET-1CEST,M3.5.0,M10.5.0/3".
  struct YearlyChange {
    int month = 0;
    int week = 0;  // 5 is the last
    int weekday = 0;
    int64_t second_of_day = 7200;
  };
  struct Rule {
    bool is_set = false;
    int64_t standard_offset = 0;
    bool has_saving = false;
    int64_t saving_offset = 0;
    YearlyChange begins;
    YearlyChange ends;
  };
  static bool parse_rule(std::string_view text, Rule& rule);
  static int64_t moment(const YearlyChange& change, int year, int64_t offset_before);
  int64_t offset_by_rule(int64_t unix_seconds) const;

  std::vector<Change> changes_;
  int64_t first_offset_ = 0;
  Rule rule_;
};

LocalTime civil_time(int64_t unix_seconds);

}  // namespace lockstep::rollout
