#include "dashboard/history.h"

#include <gtest/gtest.h>

namespace lockstep::dashboard::history_test {
namespace {

using fleet::State;

Time at(int64_t second) { return Time::from_unix(1'800'000'000 + second); }

Json read(const History& history, Time now, bool with_changes = true) {
  auto json = parse_json(history.text(now, with_changes));
  EXPECT_TRUE(json) << (json ? "" : json.error().text());
  return json ? *json : Json();
}

TEST(History, WritesChangesWithTheTimeThatPassed) {
  History history;
  history.note(at(1), 7, State::required, State::cordon);
  history.note(at(3), 7, State::cordon, State::pod_restart);
  Json json = read(history, at(4));
  const JsonArray& changes = json.at("changes").as_array();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].at(0).as_int64(), 1'800'000'001'000);
  EXPECT_EQ(changes[1].at(0).as_int64(), 2000);
  EXPECT_EQ(changes[1].at(1).as_int64(), 7);
  EXPECT_EQ(changes[1].at(2).as_int64(), static_cast<int64_t>(State::cordon));
  EXPECT_EQ(changes[1].at(3).as_int64(), static_cast<int64_t>(State::pod_restart));
  EXPECT_TRUE(read(history, at(4), false).at("changes").as_array().empty());
}

TEST(History, ForgetsTheOldestChangesAndSaysHowMany) {
  History history({.changes = 3, .samples = 10, .interval = seconds(1)});
  for (uint32_t node = 0; node < 5; ++node)
    history.note(at(node), node, State::done, State::required);
  Json json = read(history, at(9));
  EXPECT_EQ(json.at("forgotten").as_int64(), 2);
  ASSERT_EQ(json.at("changes").as_array().size(), 3U);
  EXPECT_EQ(json.at("changes").at(0).at(1).as_int64(), 2);
}

TEST(History, CountsGpuHoursOnlyWhileTheyAreOut) {
  History history;
  history.enter(1, State::done, 0);
  history.sample(at(0));
  history.leave(State::done, 0, at(3600));
  history.enter(1, State::cordon, 8);
  history.leave(State::cordon, 8, at(7200));
  history.enter(1, State::done, 0);
  history.sample(at(9000));
  Json json = read(history, at(9000));
  EXPECT_NEAR(as_number(json.at("lost")), 8.0, 1e-6);
  EXPECT_EQ(json.at("gpusOut").as_int64(), 0);
}

TEST(History, AClockThatGoesBackTakesNothingAway) {
  History history;
  history.enter(1, State::cordon, 4);
  history.sample(at(0));
  history.sample(at(3600));
  history.leave(State::cordon, 4, at(10));
  history.enter(1, State::done, 0);
  EXPECT_NEAR(as_number(read(history, at(5)).at("lost")), 4.0, 1e-6);
}

TEST(History, HoldsSoManySamplesByTakingThemLessOften) {
  History history({.changes = 1, .samples = 8, .interval = seconds(1)});
  for (int64_t second = 0; second < 1000; ++second) {
    history.sample(at(second));
    EXPECT_LE(read(history, at(second)).at("samples").as_array().size(), 8U);
  }
  EXPECT_GE(history.interval(), seconds(64));
  // It still reaches from the beginning to about now.
  Json json = read(history, at(1000));
  int64_t span = 0;
  for (size_t i = 1; i < json.at("samples").as_array().size(); ++i) {
    span += json.at("samples").at(i).at(0).as_int64();
  }
  EXPECT_GT(span, 700'000);
}

TEST(History, ASampleHasTheCountOfEveryState) {
  History history;
  history.enter(1, State::done, 0);
  history.enter(2, State::failed, 8);
  history.sample(at(0));
  Json sample = read(history, at(0)).at("samples").at(0);
  ASSERT_EQ(sample.as_array().size(), 2 + fleet::all_states.size());
  EXPECT_EQ(sample.at(2 + static_cast<size_t>(State::done)).as_int64(), 1);
  EXPECT_EQ(sample.at(2 + static_cast<size_t>(State::failed)).as_int64(), 1);
  EXPECT_EQ(sample.at(2 + static_cast<size_t>(State::cordon)).as_int64(), 0);
}

TEST(History, KnowsTheStatesOfOneNode) {
  History history;
  history.note(at(1), 1, State::done, State::required);
  history.note(at(2), 2, State::done, State::required);
  history.note(at(3), 1, State::required, State::cordon);
  Json states = history.states_of(1);
  ASSERT_EQ(states.as_array().size(), 2U);
  EXPECT_EQ(states.at(1).at(1).as_int64(), static_cast<int64_t>(State::cordon));
}

TEST(History, BeginsWithWhatNodesSayOfTheTimeBefore) {
  History history({.changes = 100, .samples = 16, .interval = seconds(1), .past = hours(24)});
  for (State state : {State::done, State::done, State::failed}) history.enter(0, state, 0);
  history.begin(
      {{0, State::done, at(0)}, {1, State::done, at(-86400 * 30)}, {2, State::failed, at(50)}},
      at(100));
  history.sample(at(100));
  Json json = read(history, at(100));
  EXPECT_EQ(json.at("began").as_int64(), 1'800'000'100'000);
  auto count = [&](size_t sample, State state) {
    return json.at("samples").at(sample).at(2 + static_cast<size_t>(state)).as_int64();
  };
  ASSERT_EQ(json.at("samples").as_array().size(), 5U);
  EXPECT_EQ(json.at("samples").at(0).at(0).as_int64(), 1'800'000'000'000);
  // Node 1 has been done for longer than the history reaches.
  EXPECT_EQ(count(0, State::done), 2);
  EXPECT_EQ(count(0, State::unknown), 1);
  EXPECT_EQ(count(0, State::failed), 0);
  EXPECT_EQ(count(2, State::failed), 1) << "at the 50th of 100 seconds";
  EXPECT_EQ(count(2, State::unknown), 0);
  EXPECT_EQ(count(4, State::failed), 1);
  // A page that turns the map back shows the same.
  ASSERT_EQ(json.at("changes").as_array().size(), 2U);
  EXPECT_EQ(json.at("changes").at(1).at(1).as_int64(), 2);
  EXPECT_EQ(json.at("changes").at(1).at(2).as_int64(), static_cast<int64_t>(State::unknown));
}

TEST(History, ATimeThatIsMissingOrYetToComeIsNoPast) {
  History history;
  history.enter(0, State::done, 0);
  history.begin({{0, State::done, Time()}, {1, State::failed, at(500)}}, at(100));
  Json json = read(history, at(100));
  EXPECT_TRUE(json.at("changes").as_array().empty());
  EXPECT_TRUE(json.at("samples").as_array().empty());
}

}  // namespace
}  // namespace lockstep::dashboard::history_test
