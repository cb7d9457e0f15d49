#include "rollout/window.h"

#include <gtest/gtest.h>

namespace lockstep::rollout::window_test {
namespace {

Time at(const char* text) { return *parse_rfc3339(text); }

Window window_of(const char* json) {
  auto window = read_window(*parse_json(json));
  EXPECT_TRUE(window) << (window ? "" : window.error().text());
  return *window;
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
       {Case{R"({"days":["Saturday"]})", "no day"}, Case{R"({"from":"9:00"})", "22:00"},
        Case{R"({"from":"25:00"})", "22:00"},
        Case{R"({"from":"10:00","to":"10:00"})", "never open"},
        Case{R"({"zone":"UTC"})", "not known"}, Case{R"([])", "must be a map"}}) {
    auto window = read_window(*parse_json(each.json));
    ASSERT_FALSE(window) << each.json;
    EXPECT_NE(window.error().text().find(each.says), std::string::npos) << window.error().text();
  }
}

TEST(Window, ReadsAsItIsWritten) {
  Window window =
      window_of(R"({"days":["Sat","Sun"],"from":"22:00","to":"06:00","timeZone":"Europe/Berlin"})");
  EXPECT_EQ(window.text(), "Sat, Sun 22:00-06:00 Europe/Berlin");
}

}  // namespace
}  // namespace lockstep::rollout::window_test
