// Groups of nodes that start together or not at all, and nodes that a rollout holds.
#include <gtest/gtest.h>

#include "upgrade/slots.h"
#include "upgrade/upgrade_test_util.h"

namespace lockstep::upgrade::slots_group_test {
namespace {

using Names = std::vector<std::string>;

fleet::NodeFacts member(const std::string& group, int gpu_pods = 0) {
  fleet::NodeFacts facts;
  facts.state = State::required;
  facts.startable = true;
  facts.gpu_pods = gpu_pods;
  facts.group = group;
  return facts;
}

Policy limits(int64_t parallel, int64_t unavailable) {
  Policy policy = read_policy(nullptr, "ClusterPolicy test");
  policy.max_parallel = parallel;
  policy.max_unavailable = IntOrPercent::count(unavailable);
  return policy;
}

fleet::Tally two_racks() {
  fleet::Tally tally;
  for (int i = 1; i <= 3; ++i) tally.update("a-" + std::to_string(i), member("a"));
  for (int i = 1; i <= 2; ++i) tally.update("b-" + std::to_string(i), member("b"));
  tally.update("c-1", member(""));
  return tally;
}

std::string held(const fleet::Tally& tally, const std::string& group, const Policy& policy) {
  auto reason = holds_group(tally, "", group, policy);
  return reason ? reason->name.str() : "";
}

TEST(GroupSlots, StartWhole) {
  EXPECT_EQ(choose_starts(two_racks(), "", limits(3, 3)), (Names{"a-1", "a-2", "a-3"}));
  EXPECT_EQ(choose_starts(two_racks(), "", limits(0, 6)),
            (Names{"a-1", "a-2", "a-3", "b-1", "b-2", "c-1"}));
}

TEST(GroupSlots, NobodyStartsInPlaceOfAGroupThatIsOnlyHeldByALimit) {
  // The second rack needs two, and one is left.
  EXPECT_EQ(choose_starts(two_racks(), "", limits(4, 4)), (Names{"a-1", "a-2", "a-3"}));
  fleet::Tally tally = two_racks();
  EXPECT_EQ(held(tally, "a", limits(4, 4)), "");
  for (const char* name : {"a-1", "a-2", "a-3"}) tally.reserve(name);
  EXPECT_EQ(held(tally, "b", limits(4, 4)), "GroupWaits");
}

TEST(GroupSlots, OneThatNeverFitsHoldsNobodyUp) {
  Policy policy = limits(2, 2);
  EXPECT_EQ(choose_starts(two_racks(), "", policy), (Names{"b-1", "b-2"}));
  EXPECT_EQ(held(two_racks(), "a", policy), "GroupTooLarge");
}

TEST(GroupSlots, AMemberThatMayNotStartHoldsItsGroup) {
  fleet::Tally tally = two_racks();
  fleet::NodeFacts not_ready = member("a");
  not_ready.startable = false;
  tally.update("a-2", not_ready);
  EXPECT_EQ(choose_starts(tally, "", limits(0, 6)), (Names{"b-1", "b-2", "c-1"}));
  auto reason = holds_group(tally, "", "a", limits(0, 6));
  ASSERT_TRUE(reason);
  EXPECT_EQ(reason->name, "GroupIncomplete");
  EXPECT_NE(reason->text.find("a-2"), std::string::npos);
}

TEST(GroupSlots, OnlyThoseThatWaitAreOfTheStart) {
  fleet::Tally tally = two_racks();
  fleet::NodeFacts done = member("a");
  done.state = State::done;
  done.startable = false;
  tally.update("a-1", done);
  EXPECT_EQ(choose_starts(tally, "", limits(2, 2)), (Names{"a-2", "a-3"}));
  // Its group is what the node says now.
  tally.update("a-2", member("b"));
  EXPECT_EQ(tally.group("", "b").size(), 3U);
  tally.remove("a-3");
  EXPECT_EQ(tally.group("", "a"), std::set<std::string>{"a-1"});
  tally.remove("a-1");
  EXPECT_TRUE(tally.group("", "a").empty());
}

Scene waiting() {
  Scene scene;
  scene.driver = make_driver_pod("old");
  scene.in(State::required);
  scene.counts.total = 8;
  return scene;
}

TEST(RolloutHold, ComesAfterTheNodeItselfAndBeforeTheLimits) {
  Scene scene = waiting();
  fleet::NodeView view = scene.view();
  view.held_by_rollout = fleet::Reason{fleet::Reason::wave_not_open, "wave rest is not open", ""};
  PoolView pool = scene.pool();
  pool.counts.active = 1;
  EXPECT_EQ(held_back(view, pool, scene.rules)->name, "WaveNotOpen");
  EXPECT_FALSE(is_startable(view, *pool.policy, scene.rules));
  scene.label(scene.rules.keys.skip, "true");
  fleet::NodeView skipped = scene.view();
  skipped.held_by_rollout = view.held_by_rollout;
  EXPECT_EQ(held_back(skipped, pool, scene.rules)->name, "Skipped");
}

TEST(RolloutHold, ASlotThatWasGivenBeforeTheWaveClosedIsGivenBack) {
  Scene scene = waiting();
  fleet::NodeView view = scene.view();
  view.known.granted = true;
  Decision begins = decide(view, scene.pool(), scene.rules, scene.now);
  EXPECT_EQ(entered(begins), State::cordon);
  view.held_by_rollout = fleet::Reason{fleet::Reason::wave_not_open, "closed", ""};
  Decision held = decide(view, scene.pool(), scene.rules, scene.now);
  EXPECT_EQ(held.reason.name, "WaveNotOpen");
  // The node changes, and nothing else: a replica that knows of the slot can no longer use
  // it.
  ASSERT_NE(held.patch(), nullptr);
  EXPECT_FALSE(held.patch()->to);
  EXPECT_EQ(held.patch()->annotations.size(), 1U);
  // A replica that knows of other waves gave it another slot: at most one a minute.
  scene.annotate(std::string(fleet::slot_returned_annotation),
                 format_rfc3339(scene.now - seconds(20)));
  fleet::NodeView again = scene.view();
  again.known.granted = true;
  again.held_by_rollout = view.held_by_rollout;
  Decision soon = decide(again, scene.pool(), scene.rules, scene.now);
  EXPECT_FALSE(soon.writes());
  EXPECT_EQ(soon.look_again, std::optional<Duration>(seconds(40)));
  EXPECT_TRUE(decide(again, scene.pool(), scene.rules, scene.now + seconds(40)).writes());
  // Gone when the node begins.
  again.held_by_rollout.reset();
  Decision later = decide(again, scene.pool(), scene.rules, scene.now);
  ASSERT_EQ(entered(later), State::cordon);
  const std::pair<std::string, std::optional<std::string>> gone{fleet::slot_returned_annotation,
                                                                std::nullopt};
  EXPECT_NE(std::find(later.patch()->annotations.begin(), later.patch()->annotations.end(), gone),
            later.patch()->annotations.end());
}

TEST(RolloutHold, ASlotIsKeptOverAPauseOfTheRollout) {
  Scene scene = waiting();
  fleet::NodeView view = scene.view();
  view.known.granted = true;
  view.held_by_rollout = fleet::Reason{fleet::Reason::rollout_paused, "paused", ""};
  EXPECT_FALSE(decide(view, scene.pool(), scene.rules, scene.now).writes());
}

TEST(GroupHold, IsTheReasonThatIsShown) {
  Scene scene = waiting();
  fleet::NodeView view = scene.view();
  view.held_by_group = fleet::Reason{fleet::Reason::group_waits, "needs 4 slots", ""};
  EXPECT_EQ(held_back(view, scene.pool(), scene.rules)->name, "GroupWaits");
  // But nothing about the node itself keeps it from taking a slot.
  EXPECT_TRUE(is_startable(view, scene.policy, scene.rules));
}

}  // namespace
}  // namespace lockstep::upgrade::slots_group_test
