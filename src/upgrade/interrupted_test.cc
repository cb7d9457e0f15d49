// Upgrades of one node whose state label is lost or set by hand on the way: whatever the label
// says, the node is validated, and a cordon of ours does not outlive the upgrade.
#include <algorithm>

#include <gtest/gtest.h>

#include "upgrade/walk_test_util.h"

namespace lockstep::upgrade::broken_off_test {
namespace {

constexpr State under_way[] = {State::wait_for_jobs, State::pod_deletion, State::pod_restart,
                               State::validation,    State::uncordon,     State::failed};
// Nothing: the label is lost.
constexpr std::string_view labels_of_people[] = {"", "nonsense", "upgrade-required",
                                                 "upgrade-done"};

bool passes(const Walk& walk, std::string_view state) {
  return std::count(walk.labels.begin(), walk.labels.end(), state) > 0;
}

// The upgrade of a node, up to a state.
Walk walk_until(State state, bool cordoned_before = false) {
  Walk walk;
  walk.scene.node.unschedulable = cordoned_before;
  if (state == State::failed) {
    walk.next_driver = [](Pod pod) { return crashing(std::move(pod), 11); };
  }
  walk.run_until(state);
  walk.next_driver = [](Pod pod) { return pod; };
  return walk;
}

// A user sets it.
void set_label(Walk& walk, std::string_view label) {
  const std::string& key = walk.scene.rules.keys.state;
  if (label.empty()) {
    walk.scene.node.meta.labels.erase(key);
  } else {
    walk.scene.label(key, label);
  }
  walk.labels.clear();
  walk.scene.now = walk.scene.now + seconds(10);
}

TEST(Interrupted, OurCordonIsTakenAwayAtTheEnd) {
  for (State state : under_way) {
    for (std::string_view label : labels_of_people) {
      Walk walk = walk_until(state);
      set_label(walk, label);
      walk.run();
      EXPECT_EQ(walk.scene.state(), State::done) << to_string(state) << " " << label;
      EXPECT_FALSE(walk.scene.node.unschedulable) << to_string(state) << " " << label;
      EXPECT_TRUE(walk.scene.driver->meta.labels.get(fleet::revision_label) == "new");
    }
  }
}

TEST(Interrupted, ACordonFromBeforeStays) {
  for (State state : under_way) {
    if (state == State::uncordon) continue;
    for (std::string_view label : labels_of_people) {
      Walk walk = walk_until(state, true);
      set_label(walk, label);
      for (int i = 0; i < 30 && walk.step(); ++i) EXPECT_TRUE(walk.scene.node.unschedulable);
      EXPECT_EQ(walk.scene.state(), State::done) << to_string(state) << " " << label;
    }
  }
}

TEST(Interrupted, NoValidationIsLeftOutWhoeverCordonedTheNode) {
  for (State state : {State::pod_restart, State::validation, State::failed}) {
    for (std::string_view label : labels_of_people) {
      for (bool cordoned_before : {false, true}) {
        Walk walk = walk_until(state, cordoned_before);
        set_label(walk, label);
        walk.run();
        EXPECT_TRUE(passes(walk, "validation-required")) << to_string(state) << " " << label;
        EXPECT_EQ(std::count(walk.pods_removed.begin(), walk.pods_removed.end(), "plugin"), 1)
            << "a client from before the restart";
      }
    }
  }
}

TEST(Interrupted, AfterTheRestartNobodyIsMovedAndTheDriverIsNotRestartedAgain) {
  Walk walk = walk_until(State::validation);
  // The pod came while the node was uncordoned by a user.
  walk.scene.pods = {gpu_pod(make_pod("serve"))};
  walk.pods_removed.clear();
  set_label(walk, "");
  walk.run();
  EXPECT_EQ(walk.labels, (Names{"upgrade-required", "pod-restart-required", "validation-required",
                                "uncordon-required", "upgrade-done"}));
  EXPECT_EQ(walk.pods_removed, (Names{"plugin", "validator"}));
}

TEST(Interrupted, ItWaitsForASlotLikeTheOthers) {
  Walk walk = walk_until(State::validation);
  set_label(walk, "upgrade-required");
  walk.gives_slots = false;
  walk.run();
  EXPECT_EQ(walk.scene.state(), State::required);
  EXPECT_TRUE(walk.scene.node.unschedulable);
}

TEST(Interrupted, AChangeThatIsTakenBackMeanwhileIsValidatedTooOnceTheDriverWasRestarted) {
  Walk walk = walk_until(State::validation);
  set_label(walk, "");
  walk.scene.newest = "newer";
  walk.run_until(State::wait_for_jobs);
  walk.scene.newest = "new";
  walk.scene.now = walk.scene.now + seconds(10);
  walk.run();
  EXPECT_TRUE(passes(walk, "validation-required"));
  EXPECT_EQ(walk.scene.state(), State::done);
}

TEST(Interrupted, BeforeTheRestartAChangeTakenBackGoesStraightToUncordon) {
  Walk walk = walk_until(State::pod_deletion);
  set_label(walk, "");
  walk.scene.newest = "old";
  walk.step();
  walk.scene.now = walk.scene.now + seconds(10);
  walk.run();
  EXPECT_EQ(walk.labels, (Names{"upgrade-required", "uncordon-required", "upgrade-done"}));
  EXPECT_FALSE(walk.scene.node.unschedulable);
}

// They have the last word, also when it is the same as ours was.
TEST(Interrupted, AnOwnerWhoUncordonsAndCordonsAgainKeepsTheirCordon) {
  for (std::string_view label : {"", "upgrade-required", "upgrade-failed"}) {
    Walk walk = walk_until(State::failed);
    walk.gives_slots = false;
    walk.scene.driver = crashing(*walk.scene.driver, 11);
    set_label(walk, label);
    walk.scene.node.unschedulable = false;
    walk.run();
    walk.scene.node.unschedulable = true;
    walk.gives_slots = true;
    set_label(walk, "upgrade-required");
    for (int i = 0; i < 30 && walk.step(); ++i) EXPECT_TRUE(walk.scene.node.unschedulable);
    EXPECT_EQ(walk.scene.state(), State::done) << label;
    EXPECT_TRUE(passes(walk, "validation-required")) << label;
  }
}

TEST(Interrupted, ACordonBetweenTheSlotAndOursIsItsOwners) {
  Walk walk = walk_until(State::cordon);
  walk.scene.node.unschedulable = true;
  walk.run();
  EXPECT_EQ(walk.scene.state(), State::done);
  EXPECT_TRUE(walk.scene.node.unschedulable);
}

}  // namespace
}  // namespace lockstep::upgrade::broken_off_test
