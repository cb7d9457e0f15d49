#include "fleet/node_view.h"

#include <gtest/gtest.h>

namespace lockstep::fleet::node_view_test {
namespace {

const Keys keys;

Node in(State state) {
  Node node;
  node.meta.labels = {{Text(keys.state), Text(to_string(state))}};
  return node;
}

TEST(NodeView, AStateIsReadFromTheLabel) {
  EXPECT_EQ(state_of(in(State::drain), keys), State::drain);
  EXPECT_EQ(state_of(Node{}, keys), State::unknown);
}

TEST(NodeView, AnEmptyLabelIsUnknownAndNotStrange) {
  EXPECT_EQ(state_of(in(State::unknown), keys), State::unknown);
  EXPECT_FALSE(has_strange_state(in(State::unknown), keys));
  EXPECT_FALSE(has_strange_state(Node{}, keys));
  EXPECT_FALSE(has_strange_state(in(State::done), keys));
  Node node;
  node.meta.labels = {{Text(keys.state), "half-done"}};
  EXPECT_TRUE(has_strange_state(node, keys));
}

TEST(NodeView, SkipAndRequestAreExactlyTrue) {
  for (auto [value, holds] :
       {std::pair{"true", true}, {"True", false}, {"1", false}, {"", false}}) {
    Node node;
    node.meta.labels = {{Text(keys.skip), value}};
    node.meta.annotations = {{Text(keys.requested), value}};
    EXPECT_EQ(is_skipped(node, keys), holds) << value;
    EXPECT_EQ(is_requested(node, keys), holds) << value;
  }
}

// Runbooks and NVIDIA's documentation say nvidia.com, whichever domain the controller works with.
TEST(UsersSkipLabels, CountInEveryKeyDomain) {
  const Keys ours("lockstep.dev");
  Node node;
  EXPECT_EQ(skip_label_of(node, ours), "");
  node.meta.labels = {{"nvidia.com/gpu-driver-upgrade.skip", "true"}};
  EXPECT_TRUE(is_skipped(node, ours));
  EXPECT_EQ(skip_label_of(node, ours), "nvidia.com/gpu-driver-upgrade.skip");
  // A rollout's own, from coordinate mode.
  node.meta.annotations = {{Text(kept_back_annotation), "driver"}};
  EXPECT_FALSE(is_skipped(node, ours));
  node.meta.labels = {{"lockstep.dev/gpu-driver-upgrade.skip", "true"}};
  EXPECT_EQ(skip_label_of(node, ours), "lockstep.dev/gpu-driver-upgrade.skip");
  EXPECT_FALSE(is_skipped(node, Keys()));
  Pod pod;
  EXPECT_FALSE(is_left_by_drains(pod, ours));
  pod.meta.labels = {{"nvidia.com/gpu-driver-upgrade-drain.skip", "true"}};
  EXPECT_TRUE(is_left_by_drains(pod, ours));
  EXPECT_TRUE(is_left_by_drains(pod, Keys()));
  pod.meta.labels = {{"lockstep.dev/gpu-driver-upgrade-drain.skip", "true"}};
  EXPECT_TRUE(is_left_by_drains(pod, ours));
}

TEST(NodeView, SafeLoadIsAnythingButEmpty) {
  Node node;
  EXPECT_FALSE(waits_for_safe_load(node, keys));
  node.meta.annotations = {{Text(keys.safe_load), ""}};
  EXPECT_FALSE(waits_for_safe_load(node, keys));
  node.meta.annotations = {{Text(keys.safe_load), "gpu-1"}};
  EXPECT_TRUE(waits_for_safe_load(node, keys));
}

TEST(CordonedByOthers, BeforeTheUpgradeEveryCordonIsAPersons) {
  for (State state : {State::unknown, State::done, State::required}) {
    Node node = in(state);
    EXPECT_FALSE(was_cordoned_by_others(node, keys));
    node.unschedulable = true;
    EXPECT_TRUE(was_cordoned_by_others(node, keys));
  }
}

TEST(CordonedByOthers, ACordonLeftByAFailedTryIsOurs) {
  Node node = in(State::required);
  node.unschedulable = true;
  node.meta.annotations = {{Text(failure_annotation), "ProtectedPods: some"}};
  EXPECT_FALSE(was_cordoned_by_others(node, keys));
}

TEST(CordonedByOthers, AFailedTryOnANodeThatAPersonHadCordonedKeepsItTheirs) {
  Node node = in(State::required);
  node.unschedulable = true;
  node.meta.annotations = {{Text(failure_annotation), "ProtectedPods: some"},
                           {Text(keys.initially_unschedulable), "true"}};
  EXPECT_TRUE(was_cordoned_by_others(node, keys));
}

// As NVIDIA's controller leaves its nodes.
TEST(CordonedByOthers, DuringTheUpgradeACordonWithoutANoteIsTheUpgrades) {
  for (State state : all_states) {
    if (!is_active(state) && state != State::failed) continue;
    Node node = in(state);
    node.unschedulable = true;
    EXPECT_FALSE(was_cordoned_by_others(node, keys)) << to_string(state);
    node.meta.annotations = {{Text(keys.initially_unschedulable), ""}};
    EXPECT_TRUE(was_cordoned_by_others(node, keys)) << to_string(state);
    node.unschedulable = false;
    EXPECT_TRUE(was_cordoned_by_others(node, keys)) << to_string(state) << ": whoever uncordoned";
  }
}

TEST(CordonedByOthers, WhatWeWroteDownCountsInEveryState) {
  for (State state : all_states) {
    Node node = in(state);
    node.unschedulable = true;
    node.meta.annotations = {{Text(cordon_annotation), Text(our_cordon)}};
    EXPECT_FALSE(was_cordoned_by_others(node, keys)) << to_string(state);
    EXPECT_TRUE(is_cordoned_by_us(node));
    node.meta.annotations.set(Text(cordon_annotation), Text(lifted_cordon));
    EXPECT_TRUE(was_cordoned_by_others(node, keys)) << to_string(state);
    EXPECT_FALSE(is_cordoned_by_us(node));
    // A manual request, or one by NVIDIA's controller that came in between, is believed.
    node.meta.annotations = {{Text(cordon_annotation), Text(our_cordon)},
                             {Text(keys.initially_unschedulable), "true"}};
    EXPECT_TRUE(was_cordoned_by_others(node, keys)) << to_string(state);
  }
}

TEST(CordonedByOthers, BetweenTheSlotAndOurCordonItIsSomebodyElses) {
  Node node = in(State::cordon);
  node.unschedulable = true;
  node.meta.annotations = {{Text(since_annotation), "2026-11-15T04:20:11Z"}};
  EXPECT_TRUE(was_cordoned_by_others(node, keys));
}

TEST(NodeView, IsUnvalidatedAsLongAsItSaysSo) {
  Node node;
  EXPECT_FALSE(is_unvalidated(node));
  node.meta.annotations = {{Text(unvalidated_annotation), "true"}};
  EXPECT_TRUE(is_unvalidated(node));
}

// Else it would start as a node that costs no availability, and cost one.
TEST(CordonedByOthers, ANoteOfANodeThatWasUncordonedWhileItWaitedIsOld) {
  Node node = in(State::required);
  node.meta.annotations = {{Text(keys.initially_unschedulable), "true"}};
  EXPECT_FALSE(was_cordoned_by_others(node, keys));
}

TEST(NodeView, TheTimeOfEntryIsReadOrNotSet) {
  Node node;
  EXPECT_FALSE(state_since(node).is_set());
  node.meta.annotations = {{Text(since_annotation), "yesterday"}};
  EXPECT_FALSE(state_since(node).is_set());
  node.meta.annotations = {{Text(since_annotation), "2026-11-15T04:20:11Z"}};
  EXPECT_EQ(format_rfc3339(state_since(node)), "2026-11-15T04:20:11Z");
}

// The difference to now would not fit into a number of nanoseconds.
TEST(NodeView, ATimeOfEntryBefore1970IsNone) {
  Node node;
  node.meta.annotations = {{Text(since_annotation), "1700-01-01T00:00:00Z"}};
  EXPECT_FALSE(state_since(node).is_set());
}

TEST(NodeView, IsNamedAfterItsNode) {
  NodeView view;
  auto node = std::make_shared<Node>();
  node->meta.name = "gpu-7";
  view.node = node;
  EXPECT_EQ(view.name(), "gpu-7");
}

TEST(NodeView, CountsThePodsThatUseItsGpusNow) {
  NodeView view;
  auto add = [&](bool uses_gpu, PodPhase phase) {
    Pod pod;
    pod.phase = phase;
    view.pods.push_back({std::make_shared<const Pod>(pod), uses_gpu, {}, {}, {}});
  };
  EXPECT_EQ(gpu_pods_on(view), 0);
  add(true, PodPhase::running);
  add(true, PodPhase::pending);
  add(true, PodPhase::succeeded);
  add(false, PodPhase::running);
  EXPECT_EQ(gpu_pods_on(view), 2);
}

}  // namespace
}  // namespace lockstep::fleet::node_view_test
