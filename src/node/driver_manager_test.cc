#include "node/driver_manager.h"

#include "node/manager_scene_test_util.h"

namespace lockstep::node::driver_manager_test {
namespace {

using Kind = ManagerOutcome::Kind;
using kube::Fault;
using kube::ScriptedFaults;
using kube::Verb;
using Names = std::vector<std::string>;

kube::ScriptedFaults::CallMatch node_patches() {
  return ScriptedFaults::calls(Verb::patch, resource::nodes);
}
kube::ScriptedFaults::CallMatch evictions() {
  return [](const kube::Request& request) { return request.subresource == "eviction"; };
}

struct DriverManagerTest : ::testing::Test {
  ::testing::AssertionResult ends_well(const ManagerOutcome& outcome) {
    if (outcome.kind == Kind::ready && !outcome.error) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << outcome.text;
  }
  // Failed for this reason, with the node as it was.
  ::testing::AssertionResult fails(const ManagerOutcome& outcome, ErrorKind kind,
                                   std::string_view why) {
    if (outcome.kind != Kind::failed || !outcome.error) {
      return ::testing::AssertionFailure() << "it succeeded: " << outcome.text;
    }
    if (outcome.error->kind != kind || outcome.text.find(why) == std::string::npos) {
      return ::testing::AssertionFailure()
             << to_string(outcome.error->kind) << ": " << outcome.text;
    }
    return scene.is_put_back();
  }

  ManagerScene scene;
};

TEST_F(DriverManagerTest, AWholeReloadFromPausedOperandsToANodePutBack) {
  scene.add_work("train");
  EXPECT_TRUE(ends_well(scene.run()));
  EXPECT_EQ(
      scene.host.calls,
      (Names{"unload nvidia_drm", "unload nvidia_uvm", "unload nvidia",
             "unmount /run/nvidia/driver/proc", "unmount /run/nvidia/driver",
             "remove /run/nvidia/nvidia-driver.pid", "remove /run/nvidia/nvidia-driver.state"}));
  EXPECT_FALSE(scene.has_pod("default", "train"));
  EXPECT_TRUE(scene.has_pod("gpu-operator", "driver-1")) << "our own pod is not sent away";
  EXPECT_TRUE(scene.is_put_back());
  for (const char* line :
       {"sets to paused-for-driver-upgrade nvidia.com/gpu.deploy.device-plugin",
        "waits for 1 operand pod to end: gpu-operator/device-plugin-1", "cordons the node",
        "evicts 1 pod: default/train", "waits for 1 pod to end: default/train",
        "unloads nvidia_drm, nvidia_uvm, nvidia", "removes what the old driver left behind",
        "restores the node", "the driver container may start"}) {
    EXPECT_TRUE(scene.said(line)) << line;
  }
  // Once more: nothing is to be done, and nothing is.
  scene.host.calls.clear();
  EXPECT_TRUE(ends_well(scene.run()));
  EXPECT_TRUE(scene.host.calls.empty());
}

TEST_F(DriverManagerTest, TheOperandsAreGoneAndTheNodeCordonedBeforeTheDriverIsTouched) {
  scene.host.before_unload = [&](const std::string&) {
    EXPECT_FALSE(scene.has_pod("gpu-operator", "device-plugin-1"));
    EXPECT_EQ(scene.label(device_plugin_label), paused_value);
    EXPECT_TRUE(scene.unschedulable());
  };
  EXPECT_TRUE(ends_well(scene.run()));
  EXPECT_EQ(scene.host.calls.size(), 7u);
}

TEST_F(DriverManagerTest, WithoutADriverNobodyIsMoved) {
  scene.host.view = {};
  scene.add_work("train");
  EXPECT_TRUE(ends_well(scene.run()));
  EXPECT_TRUE(scene.has_pod("default", "train"));
  EXPECT_TRUE(scene.has_pod("gpu-operator", "device-plugin-1"));
  EXPECT_FALSE(scene.said("sets to paused"));
}

TEST_F(DriverManagerTest, TheSameConfigurationIsLeftLoaded) {
  scene.settings.digest = "old";
  scene.add_work("train");
  EXPECT_TRUE(ends_well(scene.run()));
  EXPECT_TRUE(scene.has_pod("default", "train"));
  EXPECT_EQ(scene.host.view.modules.size(), 3u);
  EXPECT_EQ(scene.host.view.digest, "old");
  EXPECT_TRUE(scene.host.view.driver_mounts.empty());
}

TEST_F(DriverManagerTest, AHostsDriverEndsInALabelAndNotInADriverContainer) {
  scene.host.installed = "570.1";
  auto outcome = scene.run();
  EXPECT_EQ(outcome.kind, Kind::pre_installed);
  ASSERT_TRUE(outcome.error) << "ending well would start the container";
  EXPECT_EQ(scene.label(driver_label), "pre-installed");
  EXPECT_FALSE(scene.has_pod("gpu-operator", "driver-1"));
  EXPECT_TRUE(scene.host.calls.empty());
}

TEST_F(DriverManagerTest, AHostsDriverAndThePodThatIsTakenAwayIsASuccess) {
  scene.host.installed = "570.1";
  scene.begin();
  scene.loop.run_for(seconds(10));
  scene.manager->stop();
  auto outcome = scene.finish();
  EXPECT_EQ(outcome.kind, Kind::pre_installed);
  EXPECT_FALSE(outcome.error);
  EXPECT_EQ(scene.label(driver_label), "pre-installed");
}

TEST_F(DriverManagerTest, AHostThatDoesNotAnswerEndsIt) {
  scene.host.installed_error = Error{ErrorKind::timed_out, "nvidia-smi hangs", ""};
  EXPECT_TRUE(fails(scene.run(), ErrorKind::timed_out, "nvidia-smi hangs"));
  scene.host.installed_error.reset();
  scene.host.look_error = Error{ErrorKind::internal, "/proc is empty", ""};
  EXPECT_TRUE(fails(scene.run(), ErrorKind::internal, "/proc is empty"));
}

TEST_F(DriverManagerTest, OperandsThatDoNotGoEndIt) {
  scene.stubborn = true;
  EXPECT_TRUE(fails(scene.run(), ErrorKind::timed_out, "gpu-operator/device-plugin-1"));
  EXPECT_TRUE(scene.host.calls.empty());
}

TEST_F(DriverManagerTest, APodThatMayNotBeEvictedEndsItAndKeepsItsPlace) {
  scene.add_work("bare", {.owner = ""});
  scene.add_work("train");
  EXPECT_TRUE(fails(scene.run(), ErrorKind::conflict, "DRAIN_USE_FORCE"));
  EXPECT_TRUE(scene.has_pod("default", "bare"));
  EXPECT_TRUE(scene.has_pod("default", "train"));
  EXPECT_TRUE(scene.host.calls.empty());
  scene.settings.force = true;
  EXPECT_TRUE(ends_well(scene.run()));
  EXPECT_FALSE(scene.has_pod("default", "bare"));
}

TEST_F(DriverManagerTest, ABudgetIsAskedAgainEverLessOftenUntilTheTimeIsOver) {
  scene.add_work("train");
  scene.add_budget(1);
  scene.settings.drain_timeout = minutes(10);
  scene.settings.drain = false;
  int asked = 0;
  scene.faults.on_call(
      [&](const kube::Request& request) {
        asked += request.subresource == "eviction" ? 1 : 0;
        return false;
      },
      {});
  EXPECT_TRUE(fails(scene.run(), ErrorKind::timed_out, "default/train"));
  EXPECT_TRUE(scene.said("not yet evicted: default/train"));
  EXPECT_TRUE(scene.has_pod("default", "train"));
  EXPECT_GT(asked, 10);
  EXPECT_LT(asked, 40);
}

TEST_F(DriverManagerTest, ABudgetThatGivesWayIsNotTheEnd) {
  scene.add_work("train");
  scene.add_budget(1);
  scene.begin();
  scene.loop.run_for(minutes(30));
  EXPECT_FALSE(scene.manager->outcome());
  scene.must(kube::remove(resource::pod_disruption_budgets, {"default", "budget"}));
  EXPECT_TRUE(ends_well(scene.finish()));
}

TEST_F(DriverManagerTest, TheDrainTakesAllOthersTooAndOnlyThen) {
  scene.add_work("stuck", {.grace = 3600});
  scene.add_work("web", {.gpu = false});
  scene.settings.drain_timeout = minutes(2);
  EXPECT_TRUE(fails(scene.run(), ErrorKind::timed_out, "the drain of the node failed too"));
  EXPECT_FALSE(scene.has_pod("default", "web"));
}

TEST_F(DriverManagerTest, AClaimThatIsNotGivenBackEndsIt) {
  scene.add_claim("gpu", "gpu.nvidia.com");
  scene.add_work("monitor", {.claim = "gpu", .owner = "DaemonSet"});
  EXPECT_TRUE(fails(scene.run(), ErrorKind::timed_out, "while a pod holds a GPU claim"));
  EXPECT_TRUE(scene.host.calls.empty());
}

TEST_F(DriverManagerTest, ThePluginIsThereUntilTheLastClaimIsGivenBack) {
  scene.patch_node(R"({"metadata":{"labels":{"nvidia.com/gpu.deploy.dra-driver":"true"}}})");
  scene.add_daemon_set("gpu-operator", "kubelet-plugin", std::string(dra_driver_label));
  scene.add_claim("gpu", "gpu.nvidia.com");
  scene.add_work("train", {.claim = "gpu", .grace = 60});
  scene.loop.run_for(seconds(5));
  scene.begin();
  scene.loop.run_for(seconds(30));
  EXPECT_TRUE(scene.has_pod("default", "train"));
  EXPECT_EQ(scene.label(dra_driver_label), "true");
  scene.host.before_unload = [&](const std::string&) {
    EXPECT_EQ(scene.label(dra_driver_label), paused_value);
    EXPECT_FALSE(scene.has_pod("gpu-operator", "kubelet-plugin-1"));
  };
  EXPECT_TRUE(ends_well(scene.finish()));
  EXPECT_EQ(scene.host.calls.size(), 7u);
  EXPECT_EQ(scene.label(dra_driver_label), "true");
  EXPECT_TRUE(scene.is_put_back());
}

TEST_F(DriverManagerTest, APluginThatDoesNotGoEndsIt) {
  scene.patch_node(R"({"metadata":{"labels":{"nvidia.com/gpu.deploy.dra-driver":"true"}}})");
  scene.add_daemon_set("gpu-operator", "kubelet-plugin", std::string(dra_driver_label));
  scene.loop.run_for(seconds(5));
  scene.begin();
  ASSERT_TRUE(scene.loop.run_until([&] { return scene.label(dra_driver_label) == paused_value; },
                                   minutes(5)));
  scene.stubborn = true;
  EXPECT_TRUE(fails(scene.finish(), ErrorKind::timed_out, "kubelet-plugin-1"));
}

TEST_F(DriverManagerTest, APluginWithoutALabelIsDeletedAndItsSuccessorIsNotWaitedFor) {
  scene.add_daemon_set("nvidia-dra-driver", "plugin");
  scene.loop.run_for(seconds(5));
  EXPECT_TRUE(ends_well(scene.run()));
  EXPECT_FALSE(scene.has_pod("nvidia-dra-driver", "plugin-1"));
  scene.loop.run_for(seconds(5));
  EXPECT_TRUE(scene.has_pod("nvidia-dra-driver", "plugin-2"));
}

TEST_F(DriverManagerTest, ADeviceThatStaysOpenEndsItByTheNameOfWhoHoldsIt) {
  use(scene.host.view);
  EXPECT_TRUE(fails(scene.run(), ErrorKind::timed_out, "process 4711 (python3)"));
  EXPECT_TRUE(scene.host.calls.empty());
}

TEST_F(DriverManagerTest, ADeviceThatIsClosedLaterIsWaitedFor) {
  use(scene.host.view);
  scene.begin();
  scene.loop.run_for(seconds(40));
  EXPECT_FALSE(scene.manager->outcome());
  EXPECT_TRUE(scene.said("waits for devices to be closed"));
  scene.host.view.modules.back().references -= 1;
  scene.host.view.holders.clear();
  EXPECT_TRUE(ends_well(scene.finish()));
}

TEST_F(DriverManagerTest, WhoUsesAGpuUnseenIsDrainedOffTheNode) {
  scene.add_work("by-runtime-class", {.gpu = false});
  use(scene.host.view);
  scene.begin();
  ASSERT_TRUE(scene.loop.run_until([&] { return !scene.has_pod("default", "by-runtime-class"); },
                                   minutes(5)));
  scene.host.view.modules.back().references -= 1;
  EXPECT_TRUE(ends_well(scene.finish()));
}

TEST_F(DriverManagerTest, AModuleThatCannotBeUnloadedEndsIt) {
  scene.host.errors["nvidia_uvm"] = {ErrorKind::forbidden, "not permitted", ""};
  EXPECT_TRUE(fails(scene.run(), ErrorKind::forbidden, "not permitted"));
  EXPECT_EQ(scene.host.calls, (Names{"unload nvidia_drm", "unload nvidia_uvm"}));
}

TEST_F(DriverManagerTest, AModuleThatIsInUseForAMomentIsTriedAgain) {
  scene.host.errors["nvidia_uvm"] = {ErrorKind::conflict, "in use", ""};
  scene.begin();
  ASSERT_TRUE(scene.loop.run_until([&] { return scene.host.calls.size() > 3; }, minutes(1)));
  scene.host.errors.clear();
  EXPECT_TRUE(ends_well(scene.finish()));
  scene.host.view = loaded_driver();
  scene.host.errors["nvidia"] = {ErrorKind::conflict, "always in use", ""};
  EXPECT_TRUE(fails(scene.run(), ErrorKind::timed_out, "always in use"));
}

TEST_F(DriverManagerTest, ARootThatCannotBeUnmountedEndsIt) {
  scene.host.errors["/run/nvidia/driver"] = {ErrorKind::forbidden, "not permitted", ""};
  EXPECT_TRUE(fails(scene.run(), ErrorKind::forbidden, "not permitted"));
  scene.host.errors = {{"/run/nvidia/nvidia-driver.pid", {ErrorKind::internal, "bad disk", ""}}};
  EXPECT_TRUE(fails(scene.run(), ErrorKind::internal, "bad disk"));
  scene.host.errors.clear();
  EXPECT_TRUE(ends_well(scene.run()));
}

TEST_F(DriverManagerTest, ANodeThatSomebodyCordonedStaysCordoned) {
  scene.patch_node(R"({"spec":{"unschedulable":true}})");
  scene.add_work("train");
  EXPECT_TRUE(ends_well(scene.run()));
  EXPECT_TRUE(scene.unschedulable());
  EXPECT_FALSE(scene.has_annotation(manager_cordon_annotation));
  scene.host.view = loaded_driver();
  scene.host.errors["nvidia"] = {ErrorKind::forbidden, "no", ""};
  EXPECT_EQ(scene.run().kind, Kind::failed);
  EXPECT_TRUE(scene.unschedulable());
  EXPECT_EQ(scene.label(device_plugin_label), "true");
}

TEST_F(DriverManagerTest, BesideAControllerNothingIsCordonedAndNobodyEvicted) {
  scene.patch_node(
      R"({"metadata":{"annotations":{"nvidia.com/gpu-driver-upgrade-enabled":"true"}}})");
  scene.add_work("train");
  scene.host.before_unload = [&](const std::string&) { EXPECT_FALSE(scene.unschedulable()); };
  EXPECT_TRUE(ends_well(scene.run()));
  EXPECT_TRUE(scene.has_pod("default", "train"));
  EXPECT_FALSE(scene.said("cordons the node"));
  EXPECT_TRUE(scene.is_put_back());
}

// Stopped, or killed, after any second of a run: the node is as it was at the end of it, or at the
// end of the next.
TEST_F(DriverManagerTest, ToldToStopAtAnyMomentItPutsTheNodeBack) {
  int stopped = 0;
  for (int moment = 0; moment <= 40; ++moment) {
    ManagerScene one(static_cast<uint64_t>(moment) + 1);
    one.add_work("train", {.grace = 4});
    one.begin();
    one.loop.run_for(milliseconds(400) * moment);
    one.manager->stop();
    auto outcome = one.finish(minutes(2));
    EXPECT_TRUE(one.is_put_back()) << moment << ": " << outcome.text;
    if (!outcome.error) continue;
    ++stopped;
    EXPECT_EQ(outcome.error->kind, ErrorKind::cancelled) << outcome.text;
  }
  EXPECT_GT(stopped, 15) << "the run is too short to be stopped";
}

// A write in progress at the end arrives later: the restoring write must come after it.
TEST_F(DriverManagerTest, WhatIsUnderWayIsWaitedForBeforeTheNodeIsPutBack) {
  kube::CallPlan slow;
  slow.request_delay = seconds(3);
  for (int moment = 0; moment <= 20; ++moment) {
    ManagerScene one(static_cast<uint64_t>(moment) + 1);
    one.faults.on_call(node_patches(), slow, 100);
    one.begin();
    one.loop.run_for(milliseconds(500) * moment);
    one.manager->stop();
    one.finish(minutes(2));
    one.loop.run_for(seconds(10));
    EXPECT_TRUE(one.is_put_back()) << moment;
  }
}

TEST_F(DriverManagerTest, TheWayBackIsTriedUntilItSucceeds) {
  use(scene.host.view);
  scene.begin();
  scene.loop.run_for(seconds(20));
  ASSERT_TRUE(scene.unschedulable());
  scene.faults.on_call(ScriptedFaults::calls(Verb::get, resource::nodes),
                       plan_of(Fault::server_error), 2);
  scene.faults.on_call(node_patches(), plan_of(Fault::server_error), 2);
  scene.faults.on_call(node_patches(), plan_of(Fault::conflict), 2);
  scene.manager->stop();
  EXPECT_EQ(scene.finish().error->kind, ErrorKind::cancelled);
  EXPECT_EQ(scene.faults.unused(), 0u);
  EXPECT_TRUE(scene.is_put_back());
}

// An answer may be older than the news that came while it was on its way.
TEST_F(DriverManagerTest, NewsThatComeDuringAReadAreNotForgotten) {
  kube::CallPlan slow;
  slow.reply_delay = seconds(4);
  scene.faults.on_call(ScriptedFaults::calls(Verb::list, resource::pods), slow, 1000);
  scene.add_work("train", {.grace = 3});
  Duration began = scene.loop.uptime();
  EXPECT_TRUE(ends_well(scene.run()));
  EXPECT_LT(scene.loop.uptime() - began, minutes(1)) << "it slept until the next heartbeat";
}

TEST_F(DriverManagerTest, KilledAtAnyMomentTheNextOneGoesOn) {
  int paused = 0;
  int cordoned = 0;
  for (int moment = 0; moment <= 40; ++moment) {
    ManagerScene one(static_cast<uint64_t>(moment) + 1);
    one.add_work("train", {.grace = 4});
    one.begin();
    one.loop.run_for(milliseconds(400) * moment);
    one.manager.reset();
    paused += one.label(device_plugin_label) == paused_value ? 1 : 0;
    cordoned += one.unschedulable() ? 1 : 0;
    EXPECT_TRUE(ends_well(one.run())) << moment;
    EXPECT_TRUE(one.is_put_back()) << moment;
    EXPECT_TRUE(one.host.view.modules.empty());
  }
  EXPECT_GT(paused, 5);
  EXPECT_GT(cordoned, 5);
}

TEST_F(DriverManagerTest, ALostAnswerAndAConflictAreNoTrouble) {
  scene.add_work("train");
  scene.faults.on_call(node_patches(), plan_of(Fault::reply_lost));
  scene.faults.on_call(node_patches(), plan_of(Fault::conflict));
  scene.faults.on_call(node_patches(), plan_of(Fault::server_error));
  scene.faults.on_call(evictions(), plan_of(Fault::reply_lost));
  scene.faults.on_call(ScriptedFaults::calls(Verb::list, resource::pods),
                       plan_of(Fault::server_error), 3);
  EXPECT_TRUE(ends_well(scene.run()));
  EXPECT_EQ(scene.faults.unused(), 0u);
  EXPECT_TRUE(scene.is_put_back());
}

TEST_F(DriverManagerTest, AClusterThatIsAwayIsWaitedForAndThenLeftForTheNextRun) {
  scene.begin();
  ASSERT_TRUE(scene.loop.run_until([&] { return scene.label(device_plugin_label) == paused_value; },
                                   minutes(1)));
  scene.fault_api.begin_outage();
  scene.loop.run_for(minutes(1));
  EXPECT_FALSE(scene.manager->outcome());
  ASSERT_TRUE(scene.loop.run_until([&] { return scene.manager->outcome().has_value(); }, hours(1)));
  const auto outcome = *scene.manager->outcome();
  EXPECT_EQ(outcome.error->kind, ErrorKind::unreachable) << outcome.text;
  EXPECT_NE(outcome.text.find("the next run does"), std::string::npos) << outcome.text;
  scene.fault_api.end_outage();
  EXPECT_TRUE(ends_well(scene.run()));
  EXPECT_TRUE(scene.is_put_back());
}

TEST_F(DriverManagerTest, ANodeThatIsNotThereEndsIt) {
  scene.settings.node = "gpu-9";
  auto outcome = scene.run();
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->kind, ErrorKind::not_found);
}

TEST_F(DriverManagerTest, ItsEndIsAnEventOfTheNode) {
  EXPECT_TRUE(ends_well(scene.run()));
  auto answer = scene.send(kube::list(resource::events));
  const auto& events = std::get<kube::ListBody>(answer.body).items;
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(text_at(*events[0], "reason"), "GPUDriverManager");
  EXPECT_EQ(text_at(*events[0], "type"), "Normal");
  EXPECT_EQ(text_at(*events[0], "involvedObject", "name"), "gpu-1");
}

}  // namespace
}  // namespace lockstep::node::driver_manager_test
