#include "rollout/bake_record.h"

#include <gtest/gtest.h>

#include "rollout/bake_test_util.h"

namespace lockstep::rollout::bake_record_test {
namespace {

TEST(BakeRecord, IsJudgedAgainTheSame) {
  BakeRecord record;
  record.began = began;
  record.rules.duration = hours(3);
  for (int hour = 1; hour <= 6; ++hour) {
    ModelStep model = hours_of(64, 1600);
    model.upgraded_events[fmt::format("gpu-{}", hour)]["FatalXid"] = 1;
    model.upgraded_repeat_hours[0] = 8.0 * (hour - 1);
    record.steps.push_back(step_at(hours(hour), model));
  }
  record.steps.back().speeds = {{"gpu-1", "memory", 10, 9.9}};
  record.steps.back().control_breaches = {{Reason::link_down, "gpu-9", "one"}};
  auto read = BakeRecord::parse(record.text());
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->text(), record.text());
  EXPECT_EQ(print_json(to_json(read->judge())), print_json(to_json(record.judge())));
  EXPECT_EQ(read->judge().outcome, BakeOutcome::failed);
}

TEST(BakeRecord, WhatIsNoRecordIsNamedByItsLine) {
  EXPECT_EQ(BakeRecord::parse("").error().text(), "is empty");
  EXPECT_EQ(BakeRecord::parse("{}\n").error().text(),
            "line 1: a recorded bake must begin with its rules");
  std::string first = R"({"format":2,"began":"2026-11-15T00:00:00Z"})";
  EXPECT_NE(BakeRecord::parse(first + "\n{}\n").error().text().find("line 2"), std::string::npos);
  EXPECT_FALSE(BakeRecord::parse(
      first + "\n" + R"({"at":"2026-11-15T01:00:00Z","models":[{"upgradedHours":-1}]})"));
}

TEST(BakeRecord, OneOfAnEarlierVersionIsRefusedAndSaysSo) {
  auto read = BakeRecord::parse(R"({"began":"2026-11-15T00:00:00Z","rules":{"duration":"48h"}})");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().text(),
            "line 1: recorded by another version of Lockstep in another format: replay it with the "
            "version that recorded it");
}

}  // namespace
}  // namespace lockstep::rollout::bake_record_test
