#include "upgrade/transition.h"

#include <gtest/gtest.h>

#include "upgrade/upgrade_test_util.h"

namespace lockstep::upgrade::transition_test {
namespace {

// A situation points into these.
struct Held {
  explicit Held(const Scene& scene)
      : view(scene.view()), pool(scene.pool()), rules(scene.rules), now(scene.now) {}
  Situation situation() const { return {view, pool, rules, now}; }

  fleet::NodeView view;
  PoolView pool;
  Rules rules;
  Time now;
};

std::optional<std::string> written(const NodePatch& patch, std::string_view key) {
  for (const auto& [name, value] : patch.annotations) {
    if (name == key) return value.value_or("(removed)");
  }
  return std::nullopt;
}

TEST(Transition, IsOnePatchWithTheNodesVersionAsPrecondition) {
  Held held(Scene().in(State::cordon));
  Decision decision =
      enter(held.situation(), State::wait_for_jobs, {Reason::cordoned, "because", ""});
  ASSERT_NE(decision.patch(), nullptr);
  EXPECT_EQ(decision.patch()->resource_version, "1");
  EXPECT_EQ(decision.patch()->to, State::wait_for_jobs);
  EXPECT_EQ(decision.patch()->labels.size(), 1U);
  EXPECT_EQ(decision.patch()->labels[0].first, "nvidia.com/gpu-driver-upgrade-state");
  EXPECT_EQ(decision.patch()->labels[0].second, "wait-for-jobs-required");
  EXPECT_EQ(written(*decision.patch(), "lockstep.dev/upgrade-since"), "2027-01-15T08:00:00Z");
}

TEST(Transition, MakesOneNormalEventWithTheSeedsWords) {
  Held held(Scene().in(State::cordon));
  Decision decision = enter(held.situation(), State::wait_for_jobs, {});
  ASSERT_EQ(decision.events.size(), 1U);
  EXPECT_FALSE(decision.events[0].warning);
  EXPECT_EQ(decision.events[0].message,
            "Successfully updated node state label to wait-for-jobs-required");
}

TEST(Transition, TimersBeginWithTheirStateAndEndWithIt) {
  Scene scene;
  Held before(scene.in(State::cordon));
  Decision waiting = enter(before.situation(), State::wait_for_jobs, {});
  EXPECT_EQ(written(*waiting.patch(), scene.rules.keys.wait_start), "1800000000");
  Held held(scene.in(State::wait_for_jobs));
  Decision deleting = enter(held.situation(), State::pod_deletion, {});
  EXPECT_EQ(written(*deleting.patch(), scene.rules.keys.wait_start), "(removed)");
  EXPECT_EQ(written(*deleting.patch(), scene.rules.keys.validation_start), std::nullopt);
  Decision validating = enter(held.situation(), State::validation, {});
  EXPECT_EQ(written(*validating.patch(), scene.rules.keys.validation_start), "1800000000");
}

TEST(Transition, TheEndTakesAllNotesAway) {
  Scene scene;
  scene.in(State::uncordon);
  Names notes = {scene.rules.keys.requested,
                 std::string(fleet::requested_with_annotation),
                 std::string(fleet::retried_with_annotation),
                 scene.rules.keys.initially_unschedulable,
                 scene.rules.keys.wait_start,
                 scene.rules.keys.validation_start,
                 std::string(fleet::failure_annotation),
                 std::string(fleet::failed_revision_annotation)};
  for (const std::string& note : notes) scene.annotate(note, "1");
  Held held(scene);
  Decision decision = enter(held.situation(), State::done, {});
  for (const std::string& note : notes) EXPECT_EQ(written(*decision.patch(), note), "(removed)");
  Held again(scene);
  Decision other = enter(again.situation(), State::validation, {});
  EXPECT_EQ(written(*other.patch(), scene.rules.keys.requested), std::nullopt);
}

TEST(Transition, AFailureStandsOnTheNodeAndInOneWarningThatNamesItsReason) {
  Scene scene;
  scene.driver = make_driver_pod("old");
  Held held(scene.in(State::pod_deletion));
  Decision decision = fail_node(held.situation(), {Reason::protected_pods, "two pods", "x"});
  EXPECT_EQ(entered(decision), State::failed);
  EXPECT_EQ(written(*decision.patch(), "lockstep.dev/upgrade-failure"), "ProtectedPods: two pods");
  EXPECT_EQ(written(*decision.patch(), fleet::failed_revision_annotation), "new");
  ASSERT_EQ(decision.events.size(), 1U);
  EXPECT_TRUE(decision.events[0].warning);
  EXPECT_EQ(decision.events[0].message,
            "Driver upgrade failed in pod-deletion-required: ProtectedPods: two pods");
  EXPECT_FALSE(decision.patch()->unschedulable.has_value()) << "it stays as it is";
  EXPECT_NE(decision.freshness, Freshness::as_shown);
  EXPECT_EQ(decision.freshness, Freshness::revisions)
      << "who knows of a newer one would try again at once";
}

TEST(Transition, AFailureWhileTheRevisionIsUnknownForgetsAnOlderOne) {
  Scene scene;
  scene.in(State::pod_restart);
  scene.newest = "";
  scene.annotate(fleet::failed_revision_annotation, "older");
  Held held(scene);
  Decision decision = fail_node(held.situation(), {Reason::driver_crash_loop, "y", ""});
  EXPECT_EQ(written(*decision.patch(), fleet::failed_revision_annotation), "(removed)");
}

TEST(Transition, AnUpgradeEndsByUncordonUnlessAPersonHadCordonedTheNode) {
  Scene scene;
  EXPECT_EQ(entered(leave_upgrade(Held(scene.in(State::validation)).situation(), {})),
            State::uncordon);
  scene.annotate(scene.rules.keys.initially_unschedulable, "true");
  Held held(scene);
  Decision decision = leave_upgrade(held.situation(), {});
  EXPECT_EQ(entered(decision), State::done);
  EXPECT_FALSE(decision.patch()->unschedulable.has_value());
}

TEST(Transition, WhatIsSoAlreadyIsNotWritten) {
  Scene scene;
  scene.annotate("a", "1");
  Held held(scene);
  Decision decision;
  annotate(decision, held.situation(), "a", "1");
  annotate(decision, held.situation(), "b", std::nullopt);
  set_unschedulable(decision, held.situation(), false);
  EXPECT_FALSE(decision.writes());
  annotate(decision, held.situation(), "a", "2");
  annotate(decision, held.situation(), "c", "3");
  set_unschedulable(decision, held.situation(), true);
  ASSERT_NE(decision.patch(), nullptr);
  EXPECT_EQ(decision.patch()->annotations.size(), 2U);
  EXPECT_EQ(decision.patch()->unschedulable, true);
}

TEST(Transition, TimeInAStateIsNeverNegative) {
  Scene scene;
  Held held(scene.in(State::pod_restart, seconds(40)));
  EXPECT_EQ(held.situation().in_state(), seconds(40));
  EXPECT_EQ(held.situation().left_of(seconds(100)), seconds(60));
  EXPECT_EQ(held.situation().left_of(seconds(30)), Duration::zero());
  Held early(scene.in(State::pod_restart, -seconds(40)));
  EXPECT_EQ(early.situation().in_state(), Duration::zero());
}

TEST(Transition, ATimerThatCannotBeFallsBackToTheTimeInTheState) {
  Scene scene;
  scene.in(State::validation, seconds(40));
  auto since = [&](std::string_view value) {
    scene.annotate(scene.rules.keys.validation_start, value);
    Held held(scene);
    return held.situation().since_timer(scene.rules.keys.validation_start);
  };
  EXPECT_EQ(since("1799999990"), seconds(10));
  for (std::string_view value : {"", "soon", "0", "-5", "1800000001", "9223372036854775807",
                                 "-9223372036854775808", "99999999999999999999"}) {
    EXPECT_EQ(since(value), seconds(40)) << value;
  }
}

// A slot is good for one version of its node: whatever is written ends it.
TEST(ReturnSlot, WritesToTheNodeAndIsGoneWithTheNextStep) {
  Scene scene;
  scene.driver = make_driver_pod("old");
  scene.in(State::required);
  const fleet::NodeView view = scene.view();
  const PoolView pool = scene.pool();
  Decision decision =
      return_slot({view, pool, scene.rules, scene.now}, {Reason::parallel_limit, "", ""});
  EXPECT_EQ(decision.reason.name, "ParallelLimit");
  ASSERT_NE(decision.patch(), nullptr);
  EXPECT_FALSE(decision.patch()->to);
  scene.apply(*decision.patch());
  EXPECT_EQ(scene.annotation(fleet::slot_returned_annotation), format_rfc3339(scene.now));
  // The same second again: nothing to write, and so nothing that would wake the controller.
  const fleet::NodeView returned = scene.view();
  decision =
      return_slot({returned, pool, scene.rules, scene.now}, {Reason::parallel_limit, "", ""});
  EXPECT_EQ(decision.patch(), nullptr);
  EXPECT_EQ(decision.look_again, seconds(1));
  scene.granted = true;
  decision = scene.decide();
  ASSERT_EQ(entered(decision), State::cordon);
  scene.apply(*decision.patch());
  EXPECT_EQ(scene.annotation(fleet::slot_returned_annotation), "");
}

}  // namespace
}  // namespace lockstep::upgrade::transition_test
