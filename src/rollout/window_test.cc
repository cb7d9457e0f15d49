#include "rollout/window.h"

#include <gtest/gtest.h>

namespace lockstep::rollout::window_test {
namespace {

Time at(const char* text) { return *parse_rfc3339(text); }

Window window_of(const char* json) {
  Window window;
  Reading reading;
  reading.map(*parse_json(json), [&](StrictReader& reader) { window = read_window(reader); });
  EXPECT_TRUE(reading.mistakes().empty()) << reading.texts().front();
  return window;
}

Result<TimeZone> no_zones(const std::string&) {
  return fail(ErrorKind::not_found, "there is no such zone");
}

TEST(Window, WithoutWindowsItIsAlwaysOpen) {
  WindowState state = look_at_windows({}, no_zones, at("2026-11-15T12:00:00Z"));
  EXPECT_TRUE(state.open);
  EXPECT_FALSE(state.until.is_set());
}

TEST(Window, OverMidnightBelongsToTheDayOnWhichItBegan) {
  // 14 November 2026 is a Saturday.
  std::vector<Window> windows{window_of(R"({"days":["Sat"],"from":"22:00","to":"06:00"})")};
  struct Case {
    const char* now;
    bool open;
    const char* until;
  };
  for (const Case& each : {Case{"2026-11-14T21:59:30Z", false, "2026-11-14T22:00:00Z"},
                           Case{"2026-11-14T22:00:00Z", true, "2026-11-15T06:00:00Z"},
                           Case{"2026-11-15T05:59:59Z", true, "2026-11-15T06:00:00Z"},
                           Case{"2026-11-15T06:00:00Z", false, "2026-11-21T22:00:00Z"},
                           Case{"2026-11-15T23:00:00Z", false, "2026-11-21T22:00:00Z"}}) {
    WindowState state = look_at_windows(windows, no_zones, at(each.now));
    EXPECT_EQ(state.open, each.open) << each.now;
    EXPECT_EQ(state.until, at(each.until)) << each.now;
  }
}

TEST(Window, OneOfSeveralIsEnough) {
  std::vector<Window> windows{window_of(R"({"from":"01:00","to":"02:00"})"),
                              window_of(R"({"from":"02:00","to":"03:00"})")};
  WindowState state = look_at_windows(windows, no_zones, at("2026-11-15T01:30:00Z"));
  EXPECT_TRUE(state.open);
  EXPECT_EQ(state.until, at("2026-11-15T03:00:00Z"));
}

TEST(Window, AZoneThatCannotBeReadOpensNothing) {
  std::vector<Window> windows{window_of(R"({"from":"01:00","to":"02:00","timeZone":"Mars/X"})")};
  WindowState state = look_at_windows(windows, no_zones, at("2026-11-15T01:30:00Z"));
  EXPECT_FALSE(state.open);
  ASSERT_TRUE(state.error);
  EXPECT_EQ(state.error->text(), "time zone Mars/X: there is no such zone");
}

TEST(Window, WhatIsWrongIsNamed) {
  struct Case {
    const char* json;
    const char* says;
  };
  for (const Case& each :
       {Case{R"({"days":["Saturday"]})",
             "days[0]: unknown value \"Saturday\"; expected one of: Mon, Tue"},
        Case{R"({"from":"9:00"})", "from: must be a time such as \"22:00\", not \"9:00\""},
        Case{R"({"to":"25:00"})", "to: must be a time such as \"22:00\", not \"25:00\""},
        Case{R"({"from":"24:01"})", "from: must be a time"},
        Case{R"({"from":"10:00","to":"10:00"})", "from: must differ from to"},
        Case{R"({"timeZone":""})", "timeZone: must be the name of a time zone"},
        Case{R"({"zone":"UTC"})", "zone: unknown field; expected one of: days, from, to, timeZone"},
        Case{R"([])", "must be a map, not a list"}}) {
    Reading reading;
    reading.map(*parse_json(each.json), [](StrictReader& window) { (void)read_window(window); });
    ASSERT_EQ(reading.mistakes().size(), 1U) << each.json;
    EXPECT_TRUE(reading.texts().front().starts_with(each.says)) << reading.texts().front();
  }
}

TEST(Window, ReadsAsItIsWritten) {
  Window window =
      window_of(R"({"days":["Sat","Sun"],"from":"22:00","to":"06:00","timeZone":"Europe/Berlin"})");
  EXPECT_EQ(window.text(), "Sat, Sun 22:00-06:00 Europe/Berlin");
}

}  // namespace
}  // namespace lockstep::rollout::window_test
