#include "fleet/state.h"

#include <set>

#include <gtest/gtest.h>

namespace lockstep::fleet::state_test {
namespace {

TEST(State, LabelsAreThoseThatRunbooksUse) {
  EXPECT_EQ(to_string(State::unknown), "");
  EXPECT_EQ(to_string(State::done), "upgrade-done");
  EXPECT_EQ(to_string(State::required), "upgrade-required");
  EXPECT_EQ(to_string(State::cordon), "cordon-required");
  EXPECT_EQ(to_string(State::wait_for_jobs), "wait-for-jobs-required");
  EXPECT_EQ(to_string(State::pod_deletion), "pod-deletion-required");
  EXPECT_EQ(to_string(State::drain), "drain-required");
  EXPECT_EQ(to_string(State::pod_restart), "pod-restart-required");
  EXPECT_EQ(to_string(State::validation), "validation-required");
  EXPECT_EQ(to_string(State::uncordon), "uncordon-required");
  EXPECT_EQ(to_string(State::failed), "upgrade-failed");
}

TEST(State, EveryLabelIsReadBack) {
  for (State state : all_states) EXPECT_EQ(state_of(to_string(state)), state);
}

TEST(State, WhateverIsNoStatesNameIsUnknown) {
  for (std::string_view label : {"", "unknown", "Upgrade-Done", "upgrade-done ", "paused"}) {
    EXPECT_EQ(state_of(label), State::unknown) << label;
  }
}

TEST(State, UnknownHasANameForPeople) {
  EXPECT_EQ(display_name(State::unknown), "unknown");
  EXPECT_EQ(display_name(State::failed), "upgrade-failed");
}

TEST(State, ActiveIsFromTheCordonThroughTheUncordon) {
  std::set<State> active;
  for (State state : all_states) {
    if (is_active(state)) active.insert(state);
  }
  EXPECT_EQ(active,
            (std::set<State>{State::cordon, State::wait_for_jobs, State::pod_deletion, State::drain,
                             State::pod_restart, State::validation, State::uncordon}));
}

TEST(State, AFailedNodeIsNotActive) { EXPECT_FALSE(is_active(State::failed)); }

TEST(State, BeforeTheRestartIsFromRequiredThroughTheDrain) {
  std::set<State> before;
  for (State state : all_states) {
    if (is_before_restart(state)) before.insert(state);
  }
  EXPECT_EQ(before, (std::set<State>{State::required, State::cordon, State::wait_for_jobs,
                                     State::pod_deletion, State::drain}));
}

}  // namespace
}  // namespace lockstep::fleet::state_test
