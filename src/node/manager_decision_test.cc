#include "node/manager_decision.h"

#include "node/manager_test_util.h"

namespace lockstep::node::manager_decision_test {
namespace {

using Step = ManagerStep;
using Names = std::vector<std::string>;

// A node whose operands are paused and gone: the driver of an older configuration is next.
struct Situation {
  Situation() {
    node = gpu_node();
    node.meta.labels.set(Text(device_plugin_label), Text(paused_value));
    node.unschedulable = true;
    node.meta.annotations.set(Text(manager_cordon_annotation), "ours");
    view.host = loaded_driver();
    settings.digest = "new";
    settings.clients.named = {"ml/plugin-set"};
  }
  ManagerDecision decide() {
    view.node = std::make_shared<const Node>(node);
    return decide_manager(view, settings);
  }
  void let_pass(Step step, Duration time) {
    view.elapsed[step] = time;
    view.quiet = time;
  }

  Node node;
  ManagerView view;
  ManagerSettings settings;
};

const Error* error_of(const ManagerDecision& decision) {
  return std::get_if<Error>(&decision.action);
}
bool waits(const ManagerDecision& decision) {
  return std::holds_alternative<std::monostate>(decision.action);
}
::testing::AssertionResult says(const ManagerDecision& decision, std::string_view text) {
  if (decision.says.find(text) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "no \"" << text << "\" in: " << decision.says;
}

TEST(DecideManager, AHostsDriverIsLeftAloneAndTheNodeLabelled) {
  Situation situation;
  situation.view.installed_driver = "570.1";
  auto decision = situation.decide();
  EXPECT_EQ(decision.step, Step::host_driver);
  ASSERT_TRUE(std::get_if<NodePatch>(&decision.action));
  EXPECT_EQ(std::get<NodePatch>(decision.action).labels.back().second, "pre-installed");
  EXPECT_EQ(std::get<NodePatch>(decision.action).unschedulable, false);
  situation.node = gpu_node();
  situation.node.meta.labels.set(Text(driver_label), Text(pre_installed_value));
  decision = situation.decide();
  EXPECT_TRUE(waits(decision));
  EXPECT_TRUE(says(decision, "570.1 is installed on the host: waits until this driver pod"));
  situation.let_pass(Step::host_driver, minutes(1));
  EXPECT_EQ(std::get<Finish>(situation.decide().action), (Finish{true}));
}

TEST(DecideManager, WithoutAModuleItCleansUpPutsTheNodeBackAndEnds) {
  Situation situation;
  situation.view.host.modules.clear();
  situation.view.pods = {pod_here({.name = "train", .uses_gpu = true})};
  auto decision = situation.decide();
  EXPECT_EQ(decision.step, Step::clean_up);
  EXPECT_EQ(std::get<CleanUp>(decision.action),
            (CleanUp{{"/run/nvidia/driver/proc", "/run/nvidia/driver"},
                     {"/run/nvidia/nvidia-driver.pid", "/run/nvidia/nvidia-driver.state"}}));
  situation.view.host = {};
  decision = situation.decide();
  EXPECT_EQ(decision.step, Step::restore);
  EXPECT_EQ(std::get<NodePatch>(decision.action).unschedulable, false);
  EXPECT_TRUE(says(decision, "sets to true nvidia.com/gpu.deploy.device-plugin, uncordons it"));
  situation.node = gpu_node();
  decision = situation.decide();
  EXPECT_EQ(decision.step, Step::finish);
  EXPECT_EQ(std::get<Finish>(decision.action), Finish{});
}

TEST(DecideManager, TheSameConfigurationIsNotReloaded) {
  Situation situation;
  situation.settings.digest = "old";
  auto decision = situation.decide();
  EXPECT_EQ(decision.step, Step::clean_up);
  EXPECT_EQ(std::get<CleanUp>(decision.action).files, (Names{"/run/nvidia/nvidia-driver.pid"}))
      << "what tells of the configuration stays with it";
  situation.view.host.driver_mounts.clear();
  situation.view.host.process_file.clear();
  EXPECT_EQ(situation.decide().step, Step::restore);
  situation.settings.force_reinstall = true;
  EXPECT_EQ(situation.decide().step, Step::unload);
  situation.settings.force_reinstall = false;
  situation.settings.digest = "";
  situation.view.host.digest = "";
  EXPECT_EQ(situation.decide().step, Step::unload) << "two that are not known are not the same";
}

TEST(DecideManager, OperandsArePausedAndWaitedForByTheLabelThatSendsThemAway) {
  Situation situation;
  situation.node = gpu_node();
  auto decision = situation.decide();
  EXPECT_EQ(decision.step, Step::pause_operands);
  ASSERT_EQ(std::get<NodePatch>(decision.action).labels.size(), 1u);
  situation.node.meta.labels.set(Text(device_plugin_label), Text(paused_value));
  StringMap selector{{Text(device_plugin_label), "true"}};
  situation.view.pods = {
      pod_here({.name = "bare", .owner = "", .selector = selector}),
      pod_here({.name = "device-plugin", .owner = "DaemonSet", .selector = selector}),
      pod_here({.name = "driver",
                .owner = "DaemonSet",
                .selector = {{"nvidia.com/gpu.deploy.driver", "true"}}})};
  decision = situation.decide();
  EXPECT_EQ(decision.step, Step::wait_for_operands);
  EXPECT_TRUE(waits(decision));
  EXPECT_EQ(decision.says, "waits for 1 operand pod to end: ml/device-plugin");
  EXPECT_EQ(decision.look_again, minutes(5));
  situation.let_pass(Step::wait_for_operands, minutes(5));
  decision = situation.decide();
  ASSERT_TRUE(error_of(decision));
  EXPECT_EQ(error_of(decision)->kind, ErrorKind::timed_out);
  EXPECT_TRUE(says(decision, "ml/device-plugin; gave up after 5m"));
}

// Any tenant can write the node selector of an operand, and a pod that takes its time to end.
TEST(DecideManager, APodOfATenantIsNoOperand) {
  Situation situation;
  StringMap selector{{Text(device_plugin_label), "true"}};
  PodWish pod{.name = "slow", .owner = "DaemonSet", .selector = selector};
  for (const auto& [ns, waited_for] :
       {std::pair("team-a", false), {"gpu-operator", true}, {"nvidia-dra-driver", true}}) {
    pod.ns = ns;
    situation.view.pods = {pod_here(pod)};
    EXPECT_EQ(situation.decide().step == Step::wait_for_operands, waited_for) << ns;
  }
}

TEST(DecideManager, GpuPodsAreEvictedFromACordonedNode) {
  Situation situation;
  situation.node.unschedulable = false;
  situation.view.pods = {pod_here({.name = "train", .uses_gpu = true}), pod_here({.name = "web"})};
  auto decision = situation.decide();
  EXPECT_EQ(decision.step, Step::cordon);
  EXPECT_EQ(std::get<NodePatch>(decision.action).unschedulable, true);
  situation.node.unschedulable = true;
  decision = situation.decide();
  EXPECT_EQ(decision.step, Step::evict);
  EXPECT_EQ(decision.says, "evicts 1 pod: ml/train");
  EXPECT_EQ(std::get<upgrade::PodRemovals>(decision.action).at(0).how, upgrade::Removal::evict);
  situation.view.pods[0] = pod_here({.name = "train", .uses_gpu = true, .deleting = true});
  decision = situation.decide();
  EXPECT_TRUE(waits(decision));
  EXPECT_EQ(decision.says, "waits for 1 pod to end: ml/train");
  situation.let_pass(Step::evict, hours(100));
  EXPECT_TRUE(waits(situation.decide())) << "no timeout is for ever";
}

TEST(DecideManager, AControllerInChargeIsLeftToCordonAndEvict) {
  Situation situation;
  situation.node.unschedulable = false;
  situation.node.meta.annotations.set(Text(controller_annotation), "true");
  situation.view.pods = {pod_here({.name = "train", .uses_gpu = true})};
  EXPECT_EQ(situation.decide().step, Step::unload);
  use(situation.view.host);
  situation.let_pass(Step::devices, hours(1));
  auto decision = situation.decide();
  EXPECT_EQ(decision.step, Step::devices);
  EXPECT_TRUE(error_of(decision)) << "nor does it drain";
}

TEST(DecideManager, WhatCannotBeEvictedIsDrainedWhereThatIsAllowed) {
  Situation situation;
  situation.settings.drain_timeout = minutes(2);
  situation.view.pods = {pod_here({.name = "train", .uses_gpu = true, .deleting = true}),
                         pod_here({.name = "web"})};
  auto decision = situation.decide();
  EXPECT_TRUE(waits(decision));
  EXPECT_EQ(decision.look_again, minutes(2));
  situation.let_pass(Step::evict, minutes(2));
  decision = situation.decide();
  EXPECT_EQ(decision.step, Step::drain);
  EXPECT_TRUE(says(decision, "evicts 1 pod: ml/web"));
  EXPECT_TRUE(says(decision, "gave up after 2m (DRAIN_TIMEOUT_SECONDS)"));
  situation.let_pass(Step::drain, minutes(2));
  decision = situation.decide();
  ASSERT_TRUE(error_of(decision));
  EXPECT_TRUE(says(decision, "the drain of the node failed too"));
  situation.settings.drain = false;
  decision = situation.decide();
  EXPECT_EQ(decision.step, Step::evict);
  ASSERT_TRUE(error_of(decision));
  EXPECT_EQ(error_of(decision)->kind, ErrorKind::timed_out);
}

TEST(DecideManager, ProtectedPodsEndItAndAreNamed) {
  Situation situation;
  situation.view.pods = {pod_here({.name = "bare", .owner = "", .uses_gpu = true}),
                         pod_here({.name = "train", .uses_gpu = true})};
  auto decision = situation.decide();
  ASSERT_TRUE(error_of(decision)) << "nobody is evicted when one may not be";
  EXPECT_EQ(error_of(decision)->kind, ErrorKind::conflict);
  EXPECT_TRUE(says(decision, "ml/bare has no controller"));
  situation.settings.force = true;
  EXPECT_EQ(situation.decide().step, Step::evict);
}

TEST(DecideManager, WithoutEvictionOnlyADrainMovesGpuPods) {
  Situation situation;
  situation.settings.evict_gpu_pods = false;
  situation.node.unschedulable = false;
  EXPECT_EQ(situation.decide().step, Step::unload) << "nobody is there, and nothing is cordoned";
  situation.view.pods = {pod_here({.name = "train", .uses_gpu = true})};
  EXPECT_EQ(situation.decide().step, Step::cordon);
  situation.node.unschedulable = true;
  EXPECT_EQ(situation.decide().step, Step::drain);
  situation.settings.drain_pods = *LabelSelector::parse("app=batch");
  auto decision = situation.decide();
  ASSERT_TRUE(error_of(decision));
  EXPECT_TRUE(says(decision, "DRAIN_POD_SELECTOR_LABEL leaves out ml/train"));
  situation.settings.drain = false;
  decision = situation.decide();
  EXPECT_TRUE(waits(decision));
  EXPECT_TRUE(says(decision, "and so is the drain: waits for 1 pod to end: ml/train"));
  situation.let_pass(Step::evict, minutes(5));
  EXPECT_TRUE(error_of(situation.decide()));
}

TEST(DecideManager, ItRefusesWhileAPodHoldsAClaim) {
  Situation situation;
  situation.view.pods = {pod_here({.name = "daemon", .owner = "DaemonSet", .claim = true})};
  auto decision = situation.decide();
  EXPECT_EQ(decision.step, Step::claims);
  EXPECT_TRUE(waits(decision));
  EXPECT_EQ(decision.says, "refuses to unload the driver while a pod holds a GPU claim: ml/daemon");
  situation.node.meta.annotations.set(Text(controller_annotation), "true");
  EXPECT_EQ(situation.decide().step, Step::claims) << "also beside a controller";
  situation.let_pass(Step::claims, minutes(5));
  EXPECT_TRUE(error_of(situation.decide()));
}

TEST(DecideManager, ThePluginIsStoppedAfterTheLastClaim) {
  Situation situation;
  situation.node.meta.labels.set(Text(dra_driver_label), "true");
  StringMap selector{{Text(dra_driver_label), "true"}};
  PodWish plugin{.name = "plugin", .owner = "DaemonSet", .selector = selector};
  situation.view.pods = {pod_here({.name = "daemon", .owner = "DaemonSet", .claim = true}),
                         pod_here(plugin)};
  EXPECT_EQ(situation.decide().step, Step::claims);
  situation.view.pods = {pod_here(plugin)};
  auto decision = situation.decide();
  EXPECT_EQ(decision.step, Step::stop_plugin);
  ASSERT_TRUE(std::get_if<NodePatch>(&decision.action));
  situation.node.meta.labels.set(Text(dra_driver_label), Text(paused_value));
  decision = situation.decide();
  EXPECT_TRUE(waits(decision));
  EXPECT_EQ(decision.says, "waits for 1 plugin pod to end: ml/plugin");
  situation.let_pass(Step::stop_plugin, minutes(5));
  EXPECT_TRUE(error_of(situation.decide()));
}

TEST(DecideManager, APluginWithoutALabelIsDeletedOnce) {
  Situation situation;
  situation.view.pods = {pod_here({.name = "plugin", .owner = "DaemonSet"})};
  auto decision = situation.decide();
  EXPECT_EQ(decision.step, Step::stop_plugin);
  ASSERT_TRUE(std::get_if<upgrade::PodRemovals>(&decision.action));
  EXPECT_EQ(std::get<upgrade::PodRemovals>(decision.action).at(0).how, upgrade::Removal::remove);
  situation.view.restarted_clients = {"ml/plugin-set"};
  EXPECT_EQ(situation.decide().step, Step::unload) << "its successor waits for the new driver";
  situation.view.pods = {pod_here({.name = "plugin", .owner = "DaemonSet", .deleting = true})};
  EXPECT_TRUE(waits(situation.decide()));
  // The successor was faster and has opened the old driver.
  situation.view.pods = {pod_here({.name = "plugin", .owner = "DaemonSet"})};
  use(situation.view.host);
  EXPECT_EQ(situation.decide().step, Step::devices);
  situation.let_pass(Step::devices, seconds(30));
  EXPECT_EQ(situation.decide().step, Step::stop_plugin);
}

TEST(DecideManager, DevicesThatAreOpenAreWaitedForByName) {
  Situation situation;
  situation.settings.drain = false;
  use(situation.view.host);
  auto decision = situation.decide();
  EXPECT_EQ(decision.step, Step::devices);
  EXPECT_TRUE(waits(decision));
  EXPECT_TRUE(says(decision, "the driver is in use: nvidia (1), by process 4711 (python3)"));
  EXPECT_EQ(decision.look_again, seconds(1));
  situation.view.host.holders.clear();
  EXPECT_TRUE(says(situation.decide(), "by no process that is visible from here"));
  situation.let_pass(Step::devices, minutes(5));
  decision = situation.decide();
  ASSERT_TRUE(error_of(decision));
  EXPECT_EQ(error_of(decision)->kind, ErrorKind::timed_out);
}

TEST(DecideManager, WhoeverUsesAGpuUnseenIsDrained) {
  Situation situation;
  use(situation.view.host);
  situation.view.pods = {pod_here({.name = "by-runtime-class"})};
  EXPECT_EQ(situation.decide().step, Step::devices);
  situation.let_pass(Step::devices, minutes(1));
  EXPECT_EQ(situation.decide().step, Step::drain);
  // Gone, and the process needs a moment.
  situation.view.pods.clear();
  situation.view.elapsed[Step::devices] = hours(1);
  situation.view.quiet = seconds(1);
  EXPECT_TRUE(waits(situation.decide()));
}

TEST(DecideManager, ModulesGoInTheirOrder) {
  Situation situation;
  auto decision = situation.decide();
  EXPECT_EQ(decision.step, Step::unload);
  EXPECT_EQ(std::get<UnloadModules>(decision.action).order,
            (Names{"nvidia_drm", "nvidia_uvm", "nvidia"}));
  situation.view.unload_error = "nvidia_drm is in use";
  situation.let_pass(Step::unload, minutes(5));
  decision = situation.decide();
  ASSERT_TRUE(error_of(decision));
  EXPECT_TRUE(says(decision, "could not be unloaded within 5m: nvidia_drm is in use"));
}

}  // namespace
}  // namespace lockstep::node::manager_decision_test
