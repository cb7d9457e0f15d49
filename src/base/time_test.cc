#include "base/time.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace lockstep::time_test {
namespace {

constexpr int64_t known = 1'794'716'411;  // 2026-11-15T04:20:11Z

TEST(Rfc3339, Formats) {
  EXPECT_EQ(format_rfc3339(Time::from_unix(known)), "2026-11-15T04:20:11Z");
  EXPECT_EQ(format_rfc3339_micro(Time::from_unix(known) + microseconds(1234)),
            "2026-11-15T04:20:11.001234Z");
  EXPECT_EQ(format_rfc3339(Time{}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_rfc3339(Time::from_unix(951'782'400)), "2000-02-29T00:00:00Z");
}

TEST(Rfc3339, RoundsDownBeforeTheEpoch) {
  EXPECT_EQ(format_rfc3339_micro(Time{-1}), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(Time{-1}.unix_seconds(), -1);
  EXPECT_EQ(Time{-1'000'000'000}.unix_seconds(), -1);
}

TEST(Rfc3339, FormatsTheFarthestTimes) {
  EXPECT_EQ(format_rfc3339_micro(Time{std::numeric_limits<int64_t>::min()}),
            "1677-09-21T00:12:43.145224Z");
  EXPECT_EQ(format_rfc3339_micro(Time{std::numeric_limits<int64_t>::max()}),
            "2262-04-11T23:47:16.854775Z");
}

TEST(Rfc3339, ParsesEveryForm) {
  const std::vector<std::pair<std::string, Time>> cases = {
      {"2026-11-15T04:20:11Z", Time::from_unix(known)},
      {"2026-11-15t04:20:11z", Time::from_unix(known)},
      {"2026-11-15T04:20:11.5Z", Time::from_unix(known) + milliseconds(500)},
      {"2026-11-15T04:20:11.123456789Z", Time::from_unix(known) + nanoseconds(123'456'789)},
      {"2026-11-15T04:20:11.1234567899999Z", Time::from_unix(known) + nanoseconds(123'456'789)},
      {"2026-11-15T04:20:11+00:00", Time::from_unix(known)},
      {"2026-11-15T06:20:11+02:00", Time::from_unix(known)},
      {"2026-11-14T22:50:11-05:30", Time::from_unix(known)},
      {"2024-02-29T00:00:00Z", Time::from_unix(1'709'164'800)},
      {"0001-01-01T00:00:00Z", Time{}},
  };
  for (const auto& [text, time] : cases) {
    const auto parsed = parse_rfc3339(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().text();
    EXPECT_EQ(parsed->unix_nanoseconds, time.unix_nanoseconds) << text;
  }
}

TEST(Rfc3339, RefusesEverythingElse) {
  const std::vector<std::string> cases = {
      "",
      "now",
      "2026",
      "2026-11-15",
      "2026-11-15T04:20:11",        // no zone
      "2026-11-15 04:20:11Z",       // a space
      "2026-11-15T04:20Z",          // no seconds
      "2026-11-15T04:20:11.Z",      // an empty fraction
      "2026-11-15T04:20:11,5Z",     // a comma
      "2026-11-15T04:20:11Zx",      // a tail
      "2026-11-15T04:20:11+0200",   // no colon
      "2026-11-15T04:20:11+24:00",  // no such offset
      "2026-11-15T04:20:11+02:60",  // no such offset
      "2026-00-15T04:20:11Z",       // no such month
      "2026-13-15T04:20:11Z",       // no such month
      "2026-11-00T04:20:11Z",       // no such day
      "2026-11-31T04:20:11Z",       // no such day
      "2026-02-29T04:20:11Z",       // no leap year
      "1900-02-29T04:20:11Z",       // no leap year either
      "2026-11-15T24:00:00Z",       // no such hour
      "2026-11-15T04:60:11Z",       // no such minute
      "2026-11-15T04:20:60Z",       // a leap second
      "+026-11-15T04:20:11Z",       // a sign
      "1600-01-01T00:00:00Z",       // beyond what 64 bits hold
      "9999-12-31T23:59:59Z",       // the same
      "2026-11-15T04:20:11.5",      // a fraction without zone
      std::string("2026-11-15T04:20:11Z\0", 21),
  };
  for (const std::string& text : cases) {
    const auto parsed = parse_rfc3339(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::invalid);
  }
}

// Within what can be parsed: whole seconds of 63 bits of nanoseconds.
rc::Gen<int64_t> any_unix_seconds() {
  return rc::gen::inRange<int64_t>(-9'223'372'036, 9'223'372'036);
}

RC_GTEST_PROP(Rfc3339, SecondsSurviveTheRoundTrip, ()) {
  const Time time = Time::from_unix(*any_unix_seconds());
  RC_ASSERT(parse_rfc3339(format_rfc3339(time)).value() == time);
}

RC_GTEST_PROP(Rfc3339, MicrosecondsSurviveTheRoundTrip, ()) {
  const Time time =
      Time::from_unix(*any_unix_seconds()) + microseconds(*rc::gen::inRange(0, 1'000'000));
  RC_ASSERT(parse_rfc3339(format_rfc3339_micro(time)).value() == time);
}

RC_GTEST_PROP(Rfc3339, AnythingElseIsAnErrorNotACrash, (const std::string& text)) {
  (void)parse_rfc3339(text);
}

TEST(HumanDuration, AsKubectlShowsAges) {
  constexpr int64_t minute = 60, hour = 3600, day = 24 * hour, year = 365 * day;
  const std::vector<std::pair<int64_t, std::string>> cases = {
      {-1, "0s"},
      {-2, "<invalid>"},
      {0, "0s"},
      {1, "1s"},
      {119, "119s"},
      {2 * minute, "2m"},
      {2 * minute + 1, "2m1s"},
      {10 * minute - 1, "9m59s"},
      {10 * minute + 59, "10m"},
      {3 * hour - 1, "179m"},
      {3 * hour, "3h"},
      {3 * hour + minute, "3h1m"},
      {8 * hour - 1, "7h59m"},
      {8 * hour + 59 * minute, "8h"},
      {2 * day - 1, "47h"},
      {2 * day, "2d"},
      {2 * day + hour, "2d1h"},
      {8 * day - 1, "7d23h"},
      {8 * day, "8d"},
      {2 * year - 1, "729d"},
      {2 * year, "2y"},
      {2 * year + day, "2y1d"},
      {8 * year - 1, "7y364d"},
      {8 * year, "8y"},
      {20 * year + 5 * day, "20y"},
  };
  for (const auto& [length, text] : cases) EXPECT_EQ(human_duration(seconds(length)), text);
  EXPECT_EQ(human_duration(milliseconds(-1999)), "0s");
  EXPECT_EQ(human_duration(milliseconds(1999)), "1s");
  EXPECT_EQ(human_duration(Duration::max()), "292y");
  EXPECT_EQ(human_duration(Duration::min()), "<invalid>");
}

TEST(DurationText, Formats) {
  const std::vector<std::pair<Duration, std::string>> cases = {
      {Duration::zero(), "0s"},
      {nanoseconds(1), "1ns"},
      {nanoseconds(1100), "1.1us"},
      {microseconds(1), "1us"},
      {microseconds(2200), "2.2ms"},
      {milliseconds(500), "500ms"},
      {milliseconds(1500), "1.5s"},
      {seconds(-1), "-1s"},
      {seconds(60), "1m"},
      {minutes(90), "1h30m"},
      {hours(1) + seconds(1), "1h1s"},
      {minutes(5) + milliseconds(1), "5m0.001s"},
      {hours(100), "100h"},
  };
  for (const auto& [duration, text] : cases) EXPECT_EQ(format_duration(duration), text);
}

TEST(DurationText, ParsesWhatGoParses) {
  const std::vector<std::pair<std::string, Duration>> cases = {
      {"0", Duration::zero()},
      {"-0", Duration::zero()},
      {"0s", Duration::zero()},
      {"5s", seconds(5)},
      {"+5s", seconds(5)},
      {"-5s", seconds(-5)},
      {"1h30m", minutes(90)},
      {"1h30m0s", minutes(90)},
      {"1.5s", milliseconds(1500)},
      {".5s", milliseconds(500)},
      {"5.s", seconds(5)},
      {"0.25h", minutes(15)},
      {"500ms", milliseconds(500)},
      {"1us", microseconds(1)},
      {"1\u00b5s", microseconds(1)},
      {"1\u03bcs", microseconds(1)},
      {"1ns", nanoseconds(1)},
      {"3s1h", hours(1) + seconds(3)},
      {"0.100000000000000000000000000000h", minutes(6)},
      {"876000h", longest_duration},
      {"-876000h", -longest_duration},
  };
  for (const auto& [text, duration] : cases) {
    const auto parsed = parse_duration(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().text();
    EXPECT_EQ(parsed->count(), duration.count()) << text;
  }
}

TEST(DurationText, RefusesWhatGoRefuses) {
  for (const std::string text : {"",
                                 "-",
                                 "+",
                                 "s",
                                 ".s",
                                 ".",
                                 "3",
                                 "1h30",
                                 "1d",
                                 "1 s",
                                 " 1s",
                                 "1s ",
                                 "1sm",
                                 "1h-1m",
                                 "--1s",
                                 "9223372036854775808ns",
                                 "-9223372036854775809ns",
                                 "99999999999999999999h",
                                 "876000h1ns",
                                 "-876001h",
                                 "876000h876000h"}) {
    const auto parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::invalid);
  }
}

RC_GTEST_PROP(DurationText, SurvivesTheRoundTrip, (int64_t any)) {
  const int64_t count = any % longest_duration.count();
  RC_ASSERT(parse_duration(format_duration(Duration(count))).value() == Duration(count));
}

TEST(DurationText, TheExtremesSurviveTheRoundTrip) {
  for (const Duration extreme : {longest_duration, -longest_duration}) {
    EXPECT_EQ(parse_duration(format_duration(extreme)).value(), extreme);
  }
}

// Numbers from outside reach these: a policy may say timeoutSeconds: 9223372036854775807.
TEST(Arithmetic, NumbersFromOutsideNeverOverflow) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(seconds(most), longest_duration);
  EXPECT_EQ(minutes(least), -longest_duration);
  EXPECT_EQ(hours(most), longest_duration);
  EXPECT_EQ(milliseconds(least), -longest_duration);
  EXPECT_EQ(microseconds(most), longest_duration);
  EXPECT_EQ(Time::from_unix(most), Time{most});
  EXPECT_EQ(Time::from_unix(least), Time{least});
  EXPECT_EQ(Time{most} + seconds(1), Time{most});
  EXPECT_EQ(Time{least} - seconds(1), Time{least});
  EXPECT_EQ(Time{most} - Time{least}, Duration(most));
  EXPECT_EQ(Time{least} - Time{most}, Duration(least));
  EXPECT_EQ(Time{1} - Time{least}, Duration(most));
  const Time today = Time::from_unix(1'794'000'000);
  EXPECT_EQ(today + seconds(most) + seconds(most) - today, longest_duration + longest_duration);
}

}  // namespace
}  // namespace lockstep::time_test
