#include "bundle/hook_waits.h"

#include <gtest/gtest.h>

namespace lockstep::bundle::hook_waits_test {
namespace {

HookRule rule() {
  HookRule made;
  made.name = "reroll";
  made.component = "operator";
  made.values_key = "hooks";
  made.waits = HookWaits{
      {{{"driver", "most"}, "1"}, {{"driver", "away"}, "25%"}}, 240, {"timeout"}, {"then"}, {"end"}};
  return made;
}

JsonObject object(std::string_view text) {
  auto json = parse_json(text);
  EXPECT_TRUE(json) << text;
  return json ? json->get_object() : JsonObject();
}

constexpr auto defaults = R"({"timeout":"20m","then":"5m","end":1740})";

TEST(HookWaits, WhatAUserSetStaysAndTheDeadlineFollowsIt) {
  JsonObject hook = object(R"({"timeout":"2h","then":"5m","end":1740})");
  auto fitted = fit_waits(rule(), {}, object(R"({"timeout":"2h"})"), 100, hook);
  ASSERT_TRUE(fitted) << fitted.error().text();
  EXPECT_EQ(fitted->driver_seconds, 7200);
  EXPECT_EQ(text_at(hook, "timeout"), "2h");
  EXPECT_EQ(as_integer(find(hook, "end")), 7200 + 300 + 240);
  EXPECT_EQ(fitted->warning, "");

  hook = object(R"({"timeout":"20m","then":"5m","end":99})");
  fitted = fit_waits(rule(), {}, object(R"({"end":99})"), 16, hook);
  ASSERT_TRUE(fitted);
  EXPECT_EQ(fitted->driver_seconds, 16 * 240);
  EXPECT_EQ(fitted->deadline_seconds, 99);
}

TEST(HookWaits, WithoutTheNumberOfNodesTheyStayAndSaySo) {
  JsonObject hook = object(defaults);
  auto fitted = fit_waits(rule(), {}, Json(), 0, hook);
  ASSERT_TRUE(fitted);
  EXPECT_EQ(fitted->driver_seconds, 1200);
  EXPECT_EQ(fitted->warning,
            "hook reroll: the number of nodes is not known, so it waits 20m for their drivers, "
            "which is enough for 5 turns. Say it with --nodes, or set operator:hooks.timeout");
}

TEST(HookWaits, ALimitThatIsNoNumberIsRefusedByItsPath) {
  JsonObject hook = object(defaults);
  auto fitted = fit_waits(rule(), object(R"({"driver":{"most":"many"}})"), Json(), 4, hook);
  ASSERT_FALSE(fitted);
  EXPECT_EQ(fitted.error().text(),
            "driver.most: must be a whole number or a percentage such as 25%, and is \"many\"");
}

}  // namespace
}  // namespace lockstep::bundle::hook_waits_test
