#include "view/controller_notes.h"

#include <gtest/gtest.h>

#include "objects/decode.h"

namespace lockstep::view::controller_notes_test {
namespace {

const ObjectKey key{"lockstep-system", std::string(notes_name)};

ControllerNotes read_back(const ControllerNotes& notes) {
  DecodeContext context;
  auto map = decode_object<ConfigMap>(notes.to_json(key), context);
  EXPECT_TRUE(map);
  return map ? ControllerNotes::from_map(*map) : ControllerNotes{};
}

TEST(ControllerNotes, AreReadAsTheyWereWritten) {
  ControllerNotes notes;
  notes.scheduler_sees_from = Time::from_unix(1'800'000'000);
  NodeNote& note = notes.nodes["gpu-1"];
  note.since = "2026-11-19T03:00:00Z";
  note.seen_since = Time::from_unix(1'790'000'000);
  note.clock_gained = -minutes(10);
  note.renewed = {Text("uid-1")};
  note.evictions["uid-2"] = {true, Time::from_unix(1'790'000'100), "no disruption allowed"};
  note.delay = fleet::Reason{fleet::Reason::watches_behind, "they are behind", "wait"};
  EXPECT_EQ(read_back(notes), notes);
}

TEST(ControllerNotes, ThatCannotBeReadSayNothing) {
  ConfigMap map;
  map.data.set(Text("nodes"), Text("[1, {"));
  map.data.set(Text("schedulerSeesFrom"), Text("tomorrow"));
  EXPECT_EQ(ControllerNotes::from_map(map), ControllerNotes{});
}

TEST(ControllerNotes, TwoReadingsOfOneMomentAreTheSame) {
  ControllerNotes one;
  one.nodes["gpu-1"].seen_since = Time::from_unix(1000);
  ControllerNotes other = one;
  other.nodes["gpu-1"].seen_since = Time::from_unix(1001);
  EXPECT_TRUE(is_about_same(one, other));
  other.nodes["gpu-1"].seen_since = Time::from_unix(1003);
  EXPECT_FALSE(is_about_same(one, other));
  other = one;
  other.nodes["gpu-1"].evictions["uid"];
  EXPECT_FALSE(is_about_same(one, other));
}

}  // namespace
}  // namespace lockstep::view::controller_notes_test
