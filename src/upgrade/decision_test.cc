#include "upgrade/decision.h"

#include <gtest/gtest.h>

namespace lockstep::upgrade::decision_test {
namespace {

TEST(NodePatch, CarriesLabelTimersCordonAndVersionTogether) {
  NodePatch patch;
  patch.resource_version = "41";
  patch.labels = {{"state", "upgrade-done"}};
  patch.annotations = {{"since", "now"}, {"timer", std::nullopt}};
  patch.unschedulable = true;
  EXPECT_EQ(print_json(patch.body()),
            R"({"metadata":{"resourceVersion":"41","labels":{"state":"upgrade-done"},)"
            R"("annotations":{"since":"now","timer":null}},"spec":{"unschedulable":true}})");
}

TEST(NodePatch, UncordonsAsKubectlDoesByRemovingTheField) {
  NodePatch patch;
  patch.unschedulable = false;
  EXPECT_EQ(print_json(patch.body()), R"({"metadata":{},"spec":{"unschedulable":null}})");
}

TEST(NodePatch, LeavesOutWhatDoesNotChange) {
  NodePatch patch;
  patch.resource_version = "7";
  EXPECT_EQ(print_json(patch.body()), R"({"metadata":{"resourceVersion":"7"}})");
}

TEST(Decision, KnowsWhatItWrites) {
  Decision nothing = hold({Reason::waits_for_jobs, "for something", ""}, seconds(3));
  EXPECT_FALSE(nothing.writes());
  EXPECT_EQ(nothing.patch(), nullptr);
  EXPECT_EQ(nothing.removals(), nullptr);
  EXPECT_EQ(nothing.reason.name, Reason::waits_for_jobs);
  EXPECT_EQ(nothing.look_again, seconds(3));
  EXPECT_FALSE(hold({}).look_again.has_value());
  Decision patching;
  patching.write = NodePatch{};
  EXPECT_TRUE(patching.writes());
  EXPECT_NE(patching.patch(), nullptr);
  Decision removing;
  removing.write = PodRemovals{};
  EXPECT_TRUE(removing.writes());
  EXPECT_NE(removing.removals(), nullptr);
}

TEST(Decision, RemovalsHaveNames) {
  EXPECT_EQ(to_string(Removal::evict), "evict");
  EXPECT_EQ(to_string(Removal::remove), "delete");
  EXPECT_EQ(to_string(Removal::force_remove), "force-delete");
}

}  // namespace
}  // namespace lockstep::upgrade::decision_test
