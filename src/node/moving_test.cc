#include "node/moving.h"

#include "node/manager_test_util.h"

namespace lockstep::node::moving_test {
namespace {

std::vector<std::string> names(const std::vector<fleet::PodPtr>& pods) {
  std::vector<std::string> found;
  for (const auto& pod : pods) found.push_back(pod->meta.name.str());
  return found;
}
using Names = std::vector<std::string>;

TEST(Moving, GpuPodsLeaveAndThoseOfDaemonSetsStay) {
  ManagerView view;
  view.pods = {pod_here({.name = "claimed", .claim = true}),
               pod_here({.name = "daemon", .owner = "DaemonSet", .uses_gpu = true}),
               pod_here({.name = "train", .uses_gpu = true}), pod_here({.name = "web"})};
  Moving moving = move_gpu_pods(view, {});
  EXPECT_EQ(names(moving.leaving), (Names{"claimed", "train"}));
  EXPECT_EQ(names(moving.to_evict), (Names{"claimed", "train"}));
  EXPECT_TRUE(moving.protected_pods.empty());
  EXPECT_EQ(names(move_all_pods(view, {}).leaving), (Names{"claimed", "train", "web"}));
}

TEST(Moving, AProtectedPodNamesTheVariableThatWouldAllowIt) {
  ManagerView view;
  view.pods = {pod_here({.name = "bare", .owner = "", .uses_gpu = true}),
               pod_here({.name = "scratch", .uses_gpu = true, .empty_dir = true})};
  Moving moving = move_gpu_pods(view, {});
  EXPECT_TRUE(moving.leaving.empty());
  ASSERT_EQ(moving.protected_pods.size(), 2u);
  EXPECT_NE(moving.protected_pods[0].find("ml/bare has no controller"), std::string::npos);
  EXPECT_NE(moving.protected_pods[0].find("DRAIN_USE_FORCE"), std::string::npos);
  EXPECT_NE(moving.protected_pods[1].find("DRAIN_DELETE_EMPTYDIR_DATA"), std::string::npos);
  ManagerSettings allowing;
  allowing.force = true;
  allowing.delete_empty_dir = true;
  EXPECT_EQ(names(move_gpu_pods(view, allowing).leaving), (Names{"bare", "scratch"}));
}

TEST(Moving, TheDrainsSelectorLeavesOthersAlone) {
  ManagerView view;
  view.pods = {pod_here({.name = "web"})};
  ManagerSettings settings;
  settings.drain_pods = *LabelSelector::parse("app=batch");
  EXPECT_TRUE(move_all_pods(view, settings).empty());
}

TEST(Moving, ARefusedPodIsTriedAgainWhenItsPauseIsOver) {
  ManagerView view;
  view.pods = {pod_here({.name = "ending", .uses_gpu = true, .deleting = true}),
               pod_here({.name = "held", .uses_gpu = true})};
  fleet::EvictionTries tries;
  tries.refusals = 2;
  tries.message = "would violate the budget";
  view.pods[1].entry.tries = tries;
  view.pods[1].entry.pause = seconds(2);
  Moving moving = move_gpu_pods(view, {});
  EXPECT_EQ(names(moving.leaving), (Names{"ending", "held"}));
  EXPECT_EQ(names(moving.ending), (Names{"ending"}));
  EXPECT_TRUE(moving.to_evict.empty());
  EXPECT_EQ(moving.next_try, seconds(2));
  EXPECT_EQ(describe(moving),
            "waits for 2 pods to end: ml/ending, ml/held; not yet evicted: ml/held (would violate "
            "the budget)");
  view.pods[1].entry.pause = Duration::zero();
  EXPECT_EQ(names(move_gpu_pods(view, {}).to_evict), (Names{"held"}));
}

}  // namespace
}  // namespace lockstep::node::moving_test
