#include "sim/oracle/pod_fate.h"

#include <gtest/gtest.h>

namespace lockstep::sim::pod_fate_test {
namespace {

using fleet::State;

const fleet::Keys keys;

JsonObject owned_by(std::string_view kind) {
  return JsonObject{{"ownerReferences",
                     JsonArray{JsonObject{
                         {"kind", kind}, {"name", "owner"}, {"uid", "1"}, {"controller", true}}}}};
}

Json pod(JsonObject metadata, bool gpu = true) {
  JsonObject container{{"name", "main"}};
  if (gpu) {
    container["resources"] = JsonObject{{"limits", JsonObject{{"nvidia.com/gpu", "1"}}}};
  }
  return JsonObject{{"metadata", std::move(metadata)},
                    {"spec", JsonObject{{"containers", JsonArray{std::move(container)}}}}};
}

upgrade::Policy policy_of(Json policy) { return upgrade::read_policy(&policy, "a test"); }

TEST(PodFateTest, WhoUsesAGpuLeavesAndOthersStay) {
  upgrade::Policy policy = policy_of(JsonObject{});
  EXPECT_EQ(fate_of(pod(owned_by("ReplicaSet")), State::pod_deletion, policy, keys), Fate::leaves);
  EXPECT_EQ(fate_of(pod(owned_by("ReplicaSet"), false), State::pod_deletion, policy, keys),
            Fate::stays);
  EXPECT_EQ(fate_of(pod(owned_by("DaemonSet")), State::pod_deletion, policy, keys), Fate::stays);
}

TEST(PodFateTest, WhomNobodyWouldMakeAgainIsProtected) {
  Json bare = pod(JsonObject{});
  EXPECT_EQ(fate_of(bare, State::pod_deletion, policy_of(JsonObject{}), keys), Fate::protected_);
  upgrade::Policy forced = policy_of(JsonObject{{"podDeletion", JsonObject{{"force", true}}}});
  EXPECT_EQ(fate_of(bare, State::pod_deletion, forced, keys), Fate::leaves);
}

TEST(PodFateTest, ADrainMovesEverybodyWhoDoesNotSayOtherwise) {
  upgrade::Policy policy = policy_of(JsonObject{{"drain", JsonObject{{"enable", true}}}});
  EXPECT_EQ(fate_of(pod(owned_by("ReplicaSet"), false), State::drain, policy, keys), Fate::leaves);
  JsonObject skips = owned_by("ReplicaSet");
  skips["labels"] = JsonObject{{keys.drain_skip, "true"}};
  EXPECT_EQ(fate_of(pod(skips, false), State::drain, policy, keys), Fate::stays);
  EXPECT_EQ(fate_of(pod(owned_by("ReplicaSet")), State::drain, policy_of(JsonObject{}), keys),
            Fate::stays);
}

}  // namespace
}  // namespace lockstep::sim::pod_fate_test
