#include "dra/plugin.h"

#include <gtest/gtest.h>

#include "dra/plugin_scene_test_util.h"

namespace lockstep::dra::plugin_test {
namespace {

using Texts = std::vector<std::string>;

struct PluginTest : ::testing::Test, PluginScene {
  std::string version_in_slice() {
    auto all = slices();
    if (all.size() != 1) return fmt::format("{} slices", all.size());
    return std::string(text_at(lockstep::find(all[0], "spec", "devices")->as_array()[0],
                               "attributes", "driverVersion", "version"));
  }
  Texts upgrading() {
    return {"gpu-0: gpu.lockstep.dev/driver-upgrading:NoSchedule",
            "gpu-1: gpu.lockstep.dev/driver-upgrading:NoSchedule"};
  }
};

TEST_F(PluginTest, PublishesAndPreparesAndIsReady) {
  start();
  EXPECT_TRUE(plugin->is_ready()) << plugin->why_not_ready();
  EXPECT_EQ(version_in_slice(), "580.95.5");
  allocate("a", "gpu-1");
  PrepareOutcome outcome = prepare("a");
  EXPECT_EQ(outcome.error, "");
  ASSERT_EQ(outcome.devices.size(), 1u);
  EXPECT_EQ(outcome.devices[0].requests, Texts{"gpu"});
  EXPECT_NE(spec_of(claim("a")).find("LOCKSTEP_GPU_1=GPU-1"), std::string::npos);
  EXPECT_NE(plugin->metrics().find("lockstep_dra_claims_prepared_total 1\n"), std::string::npos);
  EXPECT_TRUE(unprepare({claim("a")}).at(claim("a").uid).empty());
  EXPECT_EQ(spec_of(claim("a")), "");
}

TEST_F(PluginTest, ADriverThatChangesChangesEverything) {
  start();
  allocate("a", "gpu-0");
  ASSERT_EQ(prepare("a").error, "");
  probe.unload();
  loop.run_for(seconds(1));
  EXPECT_FALSE(plugin->is_ready());
  EXPECT_EQ(taints(), upgrading());
  EXPECT_EQ(plugin->health()[0].status, DeviceReport::Status::unknown);
  probe.load("580.105.08");
  loop.run_for(seconds(1));
  EXPECT_TRUE(plugin->is_ready()) << plugin->why_not_ready();
  EXPECT_EQ(version_in_slice(), "580.105.8");
  EXPECT_EQ(taints(), Texts{});
  EXPECT_NE(spec_of(claim("a")).find("LOCKSTEP_DRIVER_VERSION=580.105.08"), std::string::npos)
      << "a container that starts again gets the new driver's libraries";
  EXPECT_EQ(plugin->health()[0].status, DeviceReport::Status::healthy);
  loop.run_for(seconds(5));
  Texts reasons = event_reasons();
  EXPECT_EQ(std::count(reasons.begin(), reasons.end(), "DriverUsable"), 2);
}

TEST_F(PluginTest, APrepareWaitsForADriverThatComesBack) {
  start();
  allocate("a", "gpu-0");
  probe.unload();
  loop.run_for(seconds(1));
  loop.after(seconds(10), [this] { probe.load("580.105.08"); });
  EXPECT_EQ(prepare("a").error, "");
}

TEST_F(PluginTest, APrepareWithoutADriverSaysSoAndIsTriedAgain) {
  start();
  allocate("a", "gpu-0");
  probe.unload();
  loop.run_for(seconds(1));
  PrepareOutcome outcome = prepare("a");
  EXPECT_NE(outcome.error.find("try again"), std::string::npos) << outcome.error;
  EXPECT_NE(outcome.error.find("kernel module is not loaded"), std::string::npos) << outcome.error;
  EXPECT_FALSE(outcome.permanent);
}

TEST_F(PluginTest, APreparedClaimIsAnsweredWhileTheDriverIsAway) {
  start();
  allocate("a", "gpu-0");
  ASSERT_EQ(prepare("a").error, "");
  probe.unload();
  loop.run_for(seconds(1));
  EXPECT_EQ(prepare("a").error, "");
  EXPECT_EQ(unprepare({claim("a")}).at(claim("a").uid), "") << "no driver is needed for that";
}

TEST_F(PluginTest, ABrokenDeviceIsTaintedAtOnceEmptiedWhenSureAndUntaintedWhenWell) {
  start();
  probe.inventory.gpus[1].recovery_action = 1;
  xids = {{79, "0000:02:00", "fallen off the bus"}};
  loop.run_for(milliseconds(1500));
  EXPECT_EQ(taints(), Texts{"gpu-1: gpu.lockstep.dev/unhealthy:NoSchedule"});
  EXPECT_EQ(plugin->health()[1].status, DeviceReport::Status::unhealthy);
  loop.run_for(seconds(3));
  EXPECT_EQ(taints(), Texts{"gpu-1: gpu.lockstep.dev/unhealthy:NoExecute"});
  allocate("b", "gpu-1");
  PrepareOutcome outcome = prepare("b");
  EXPECT_TRUE(outcome.permanent);
  EXPECT_NE(outcome.error.find("the device is broken"), std::string::npos) << outcome.error;
  EXPECT_NE(outcome.error.find("the GPU needs a reset"), std::string::npos) << outcome.error;
  xids = {{13, "0000:02:00", "a program's fault"}};
  loop.run_for(seconds(5));
  EXPECT_EQ(taints().size(), 1u) << "a harmless XID does not heal";
  probe.inventory.gpus[1].recovery_action = 0;
  loop.run_for(seconds(12));
  EXPECT_EQ(taints(), Texts{});
  EXPECT_EQ(prepare("b").error, "");
}

// KEP-5322: the pod of a permanent failure is ended, and its successor must not get the device.
TEST_F(PluginTest, APermanentErrorComesAfterTheTaintOfItsDevice) {
  start();
  allocate("b", "gpu-1");
  ClaimName b = claim("b");
  kube::CallPlan slow;
  slow.request_delay = seconds(2);
  faults.on_call(kube::ScriptedFaults::calls(kube::Verb::update, resource::resource_slices), slow);
  probe.inventory.gpus[1].recovery_action = 1;
  xids = {{79, "0000:02:00", "fallen off the bus"}};
  ASSERT_TRUE(loop.run_until(
      [this] { return plugin->health()[1].status == DeviceReport::Status::unhealthy; },
      seconds(10)));
  ASSERT_EQ(taints(), Texts{}) << "it would show nothing";
  PrepareOutcome outcome = prepare({b}).at(b.uid);
  EXPECT_TRUE(outcome.permanent);
  EXPECT_FALSE(taints().empty());
}

// Bounded: a kubelet waits 45 s at most. It tries again, and the taint may be there by then.
TEST_F(PluginTest, WithoutItsTaintABrokenDeviceIsNoPermanentErrorYet) {
  start();
  allocate("b", "gpu-1");
  ClaimName b = claim("b");
  kube::CallPlan plan;
  plan.fault = kube::Fault::server_error;
  faults.on_call(kube::ScriptedFaults::calls(kube::Verb::update, resource::resource_slices), plan,
                 1000);
  probe.inventory.gpus[1].recovery_action = 1;
  xids = {{79, "0000:02:00", "fallen off the bus"}};
  ASSERT_TRUE(loop.run_until(
      [this] { return plugin->health()[1].status == DeviceReport::Status::unhealthy; },
      seconds(10)));
  Duration before = loop.uptime();
  PrepareOutcome outcome = prepare({b}).at(b.uid);
  EXPECT_FALSE(outcome.permanent);
  EXPECT_NE(outcome.error.find("the device is broken"), std::string::npos) << outcome.error;
  EXPECT_LE(loop.uptime() - before, seconds(6));
}

// As a server before 1.36 does.
struct TaintlessApi final : kube::Api {
  explicit TaintlessApi(kube::Api& api) : inner(api) {}
  void call(kube::Request request, kube::ReplyCallback done) override {
    if (request.body != nullptr && request.type == resource::resource_slices) {
      Json body = *request.body;
      if (Json* devices = lockstep::find(body, "spec", "devices")) {
        for (Json& device : devices->as_array()) erase_key(device.as_object(), "taints");
      }
      request.body = std::make_shared<const Json>(std::move(body));
    }
    inner.call(std::move(request), std::move(done));
  }
  std::unique_ptr<kube::Watch> watch(kube::WatchRequest request,
                                     kube::WatchHandler handler) override {
    return inner.watch(std::move(request), std::move(handler));
  }
  kube::Api& inner;
};

TEST_F(PluginTest, OnAServerWithoutTaintsABrokenDeviceIsTakenOutOfTheSlice) {
  TaintlessApi taintless(api);
  through = &taintless;
  start();
  auto devices = [this] {
    Texts names;
    for (const Json& slice : slices()) {
      for (const Json& device : lockstep::find(slice, "spec", "devices")->get_array()) {
        names.emplace_back(text_at(device, "name"));
      }
    }
    return names;
  };
  ASSERT_EQ(devices(), (Texts{"gpu-0", "gpu-1"}));
  probe.inventory.gpus[1].recovery_action = 1;
  xids = {{79, "0000:02:00", "fallen off the bus"}};
  loop.run_for(seconds(2));
  EXPECT_EQ(devices(), Texts{"gpu-0"});
  // It stays out, and the writes do not go to and fro.
  auto version = [this] {
    return std::string(text_at(slices()[0], "metadata", "resourceVersion"));
  };
  const std::string before = version();
  loop.run_for(minutes(5));
  EXPECT_EQ(devices(), Texts{"gpu-0"});
  EXPECT_EQ(version(), before);
  allocate("b", "gpu-1");
  EXPECT_TRUE(prepare("b").permanent);
  probe.inventory.gpus[1].recovery_action = 0;
  loop.run_for(seconds(12));
  EXPECT_EQ(devices(), (Texts{"gpu-0", "gpu-1"}));
  stop();
}

TEST_F(PluginTest, AWrongRequestIsSaidOnTheClaimAloneAndNeverTaints) {
  start();
  must(kube::create(resource::pods, "ml",
                    json_of(R"({"metadata":{"name":"p-a"},"spec":{"nodeName":"gpu-1",
                      "containers":[{"name":"c","image":"i"}]}})")));
  allocate("a", "gpu-0",
           R"({"apiVersion":"gpu.lockstep.dev/v1alpha1","kind":"GpuConfig","shareing":{}})");
  PrepareOutcome outcome = prepare("a", seconds(5));
  EXPECT_TRUE(outcome.permanent);
  EXPECT_NE(outcome.error.find("the request is wrong"), std::string::npos) << outcome.error;
  EXPECT_NE(outcome.error.find("did you mean \"sharing\""), std::string::npos) << outcome.error;
  loop.run_for(seconds(5));
  EXPECT_EQ(taints(), Texts{});
  Json noted = must(kube::get(resource::resource_claims, {"ml", "a"}));
  const Json* devices = lockstep::find(noted, "status", "devices");
  ASSERT_NE(devices, nullptr) << print_json(noted);
  const Json& condition = lockstep::find(devices->as_array()[0], "conditions")->as_array()[0];
  EXPECT_EQ(text_at(condition, "reason"), "BadConfig");
  Json pod = must(kube::get(resource::pods, {"ml", "p-a"}));
  EXPECT_EQ(lockstep::find(pod, "status", "conditions"), nullptr)
      << "a right to every pod's status would be needed for it: " << print_json(pod);
  Texts reasons = event_reasons();
  EXPECT_EQ(std::count(reasons.begin(), reasons.end(), "PrepareFailedBadConfig"), 1);
}

TEST_F(PluginTest, WhatAKilledProcessLeftIsRemovedAndWhatIsGoneIsForgotten) {
  start();
  allocate("a", "gpu-0");
  allocate("b", "gpu-1");
  ASSERT_EQ(prepare("a").error, "");
  ASSERT_EQ(prepare("b").error, "");
  ClaimName a = claim("a");
  ClaimName b = claim("b");
  stop();
  files.contents["/var/run/cdi/.lockstep-abcdef"] = "half";
  files.contents["/state/.lockstep-abcdef"] = "half";
  files.contents[cdi_file(options.cdi, "00000000-dead")] = "orphan";
  files.contents["/var/run/cdi/somebody-elses.json"] = "not ours";
  files.contents.erase(cdi_file(options.cdi, a.uid));
  must(kube::remove(resource::resource_claims, {"ml", "b"}));
  start();
  EXPECT_FALSE(files.contents.contains("/var/run/cdi/.lockstep-abcdef"));
  EXPECT_FALSE(files.contents.contains("/state/.lockstep-abcdef"));
  EXPECT_FALSE(files.contents.contains(cdi_file(options.cdi, "00000000-dead")));
  EXPECT_TRUE(files.contents.contains("/var/run/cdi/somebody-elses.json"));
  EXPECT_NE(spec_of(a), "") << "the lost spec of a prepared claim is made anew";
  EXPECT_EQ(checkpoint->find(b.uid), nullptr) << "its claim does not exist any more";
  EXPECT_EQ(spec_of(b), "");
}

TEST_F(PluginTest, StartedWithoutADriverItKeepsItsDevicesFromTheScheduler) {
  start();
  stop();
  probe.unload();
  start();
  EXPECT_EQ(taints(), upgrading());
  EXPECT_EQ(version_in_slice(), "580.95.5");
  probe.load("580.105.08");
  loop.run_for(seconds(1));
  EXPECT_EQ(taints(), Texts{});
  EXPECT_EQ(version_in_slice(), "580.105.8");
}

TEST_F(PluginTest, ADeviceThatTheDriverDoesNotKnowIsBroken) {
  start();
  allocate("a", "gpu-7");
  PrepareOutcome outcome = prepare("a", seconds(5));
  EXPECT_TRUE(outcome.permanent);
  EXPECT_NE(outcome.error.find("device gpu-7"), std::string::npos) << outcome.error;
  missing.insert("/dev/nvidia0");
  allocate("b", "gpu-0");
  loop.after(seconds(3), [this] { missing.clear(); });
  EXPECT_EQ(prepare("b").error, "") << "a device file that comes late is waited for";
}

TEST(PluginFiles, OnlyOurFilesNameClaims) {
  CdiOptions options;
  EXPECT_EQ(claim_of_cdi_file(options, "gpu.lockstep.dev-claim_u-1.json"), "u-1");
  for (const char* name : {"gpu.lockstep.dev-claim_.json", "nvidia.com-gpu.json", "",
                           "gpu.lockstep.dev-claim_u-1.yaml"}) {
    EXPECT_EQ(claim_of_cdi_file(options, name), "") << name;
  }
}

}  // namespace
}  // namespace lockstep::dra::plugin_test
