#include "dashboard/fleet_model.h"

#include <gtest/gtest.h>

namespace lockstep::dashboard::fleet_model_test {
namespace {

using fleet::State;

constexpr Time now = Time::from_unix(1'800'000'000);

NodeRow row(const std::string& name, State state = State::done) {
  NodeRow row;
  row.name = name;
  row.state = state;
  row.reason = "Reason";
  row.zone = "zone-a";
  row.gpus = 8;
  return row;
}

Json parsed(const std::optional<std::string>& text) {
  if (!text) return nullptr;
  auto json = parse_json(*text);
  EXPECT_TRUE(json) << *text;
  return json ? *json : Json();
}

TEST(FleetModel, TellsOnceWhatChanged) {
  FleetModel model;
  EXPECT_FALSE(model.take_changes(now));
  model.put(row("gpu-1"), now);
  model.put(row("gpu-2"), now);
  Json first = parsed(model.take_changes(now));
  EXPECT_EQ(first.at("sequence").as_int64(), 1);
  EXPECT_EQ(first.at("nodes").as_array().size(), 2U);
  EXPECT_FALSE(model.take_changes(now));
  model.put(row("gpu-1"), now);
  EXPECT_FALSE(model.take_changes(now)) << "the same row again";
  model.put(row("gpu-2", State::required), now);
  Json second = parsed(model.take_changes(now));
  EXPECT_EQ(second.at("sequence").as_int64(), 2);
  ASSERT_EQ(second.at("nodes").as_array().size(), 1U);
  EXPECT_EQ(second.at("nodes").at(0).at(1).as_string(), "gpu-2");
  EXPECT_EQ(second.at("nodes").at(0).at(2).as_int64(), static_cast<int64_t>(State::required));
}

TEST(FleetModel, SendsAWordOnce) {
  FleetModel model;
  model.put(row("gpu-1"), now);
  Json first = parsed(model.take_changes(now));
  auto find_word = [](const Json& words, std::string_view text) {
    for (size_t i = 0; i < words.as_array().size(); ++i) {
      if (words.at(i).as_string() == text) return static_cast<int64_t>(i);
    }
    return int64_t{-1};
  };
  EXPECT_EQ(first.at("nodes").at(0).at(8).as_int64(), find_word(first.at("words"), "zone-a"));
  NodeRow changed = row("gpu-1");
  changed.reason = "Another";
  model.put(changed, now);
  Json second = parsed(model.take_changes(now));
  ASSERT_EQ(second.at("words").as_array().size(), 1U);
  EXPECT_EQ(second.at("words").at(0).as_string(), "Another");
  EXPECT_EQ(second.at("nodes").at(0).at(5).as_int64(),
            static_cast<int64_t>(first.at("words").as_array().size()));
}

TEST(FleetModel, SnapshotIsWhatTheChangesComeTo) {
  FleetModel model;
  model.put(row("gpu-1"), now);
  model.put(row("gpu-2"), now);
  (void)model.take_changes(now);
  model.remove("gpu-1", now);
  model.put(row("gpu-3"), now);
  model.set_part("pools", JsonArray{JsonObject{{"name", "a"}}});
  Json changes = parsed(model.take_changes(now));
  EXPECT_EQ(changes.at("gone").at(0).as_int64(), 0);
  EXPECT_EQ(changes.at("pools").at(0).at("name").as_string(), "a");
  Json snapshot = parsed(model.snapshot(now));
  EXPECT_EQ(snapshot.at("sequence").as_int64(), 2);
  ASSERT_EQ(snapshot.at("nodes").as_array().size(), 2U);
  EXPECT_EQ(snapshot.at("nodes").at(0).at(1).as_string(), "gpu-2");
  EXPECT_EQ(snapshot.at("nodes").at(1).at(0).as_int64(), 2) << "numbers are not given out twice";
  EXPECT_EQ(snapshot.at("states").as_array().size(), fleet::all_states.size());
  EXPECT_EQ(snapshot.at("pools").at(0).at("name").as_string(), "a");
}

TEST(FleetModel, ANodeThatComesAndGoesBetweenTwoLooksIsGone) {
  FleetModel model;
  model.put(row("gpu-1"), now);
  model.remove("gpu-1", now);
  Json changes = parsed(model.take_changes(now));
  EXPECT_EQ(find(changes, "nodes"), nullptr);
  EXPECT_EQ(changes.at("gone").as_array().size(), 1U);
  EXPECT_EQ(model.size(), 0U);
}

TEST(FleetModel, APartIsSentWhenItDiffers) {
  FleetModel model;
  model.set_part("pools", JsonArray{1});
  EXPECT_TRUE(model.take_changes(now));
  model.set_part("pools", JsonArray{1});
  EXPECT_FALSE(model.take_changes(now));
}

TEST(FleetModel, NamesFromOutsideCannotBreakOutOfTheirText) {
  FleetModel model;
  NodeRow hostile = row("gpu-1");
  hostile.zone = "\"],\n</script>\\";
  model.put(hostile, now);
  auto changes = model.take_changes(now);
  ASSERT_TRUE(changes);
  EXPECT_EQ(changes->find('\n'), std::string::npos) << "a line break would end the event";
  EXPECT_TRUE(parse_json(*changes));
  EXPECT_TRUE(parse_json(model.snapshot(now)));
}

TEST(FleetModel, RemembersTheStatesOfANode) {
  FleetModel model;
  model.put(row("gpu-1", State::required), now);
  model.put(row("gpu-1", State::cordon), now + seconds(5));
  Json states = model.states_of("gpu-1");
  ASSERT_EQ(states.as_array().size(), 1U);
  EXPECT_EQ(states.at(0).at(1).as_int64(), static_cast<int64_t>(State::cordon));
  EXPECT_TRUE(model.states_of("gpu-2").as_array().empty());
}

}  // namespace
}  // namespace lockstep::dashboard::fleet_model_test
