#include "controller/failure_controller.h"

#include "controller/controller_test_util.h"

namespace lockstep::controller::failure_controller_test {
namespace {

constexpr std::string_view mismatch =
    "NodePrepareResources failed for claim default/gpu: failed to initialize NVML: Driver/library "
    "version mismatch";
constexpr std::string_view wrong_request =
    "NodePrepareResources failed for claim default/gpu: the request is wrong: unknown field";

// A fleet with a DRA plugin on gpu-1, and a pod there that waits for its claim.
class FailureTest : public ::testing::Test {
 protected:
  void start(upgrade::OnBadConfig on_bad_config = upgrade::OnBadConfig::leave,
             bool has_claim = true) {
    Json set = fleet.must(kube::create(resource::daemon_sets, std::string(plugin_ns),
                                       daemon_set_json(plugin_ns, plugin_set)));
    set_uid_ = text_at(set, "metadata", "uid");
    add_plugin("plugin-1");
    add_pod();
    if (has_claim) add_claim();
    make(on_bad_config);
    fleet.loop.run_for(minutes(2));
  }
  // It holds the claim "gpu", which the scheduler has allocated, and waits for it.
  void add_pod() {
    Json train = gpu_pod_json("train", "gpu-1");
    train.as_object()["spec"].as_object()["resourceClaims"] =
        json_of(R"([{"name":"gpu","resourceClaimName":"gpu"}])");
    fleet.must(kube::create(resource::pods, "default", std::move(train)));
    Json object = pod();
    pod_uid_ = text_at(object, "metadata", "uid");
  }
  void add_claim(std::string_view driver = "gpu.nvidia.com") {
    fleet.must(kube::create(
        resource::resource_claims, "default",
        json_of(
            R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"gpu"},
                    "spec":{"devices":{"requests":[{"name":"r","exactly":
                      {"deviceClassName":"gpu.nvidia.com"}}]}}})")));
    kube::Request status = kube::patch(
        resource::resource_claims, {"default", "gpu"}, kube::PatchType::merge,
        json_of(fmt::format(R"({{"status":{{"allocation":{{"devices":{{"results":[{{"request":"r",
                "driver":"{}","pool":"gpu-1","device":"gpu-0"}}]}}}},
                "reservedFor":[{{"resource":"pods","name":"train","uid":"{}"}}]}}}})",
                            driver, pod_uid_)));
    status.subresource = "status";
    fleet.must(status);
  }
  void make(upgrade::OnBadConfig on_bad_config = upgrade::OnBadConfig::leave) {
    failures.reset();
    one.restart();
    failures = std::make_unique<FailureController>(one.api, fleet.loop, random_, one.log,
                                                   one.controller->watch(),
                                                   FailureOptions{on_bad_config, "one"});
    failures->start();
    failures->lead();
  }
  void add_plugin(const std::string& name) {
    fleet.must(kube::create(resource::pods, std::string(plugin_ns),
                            daemon_pod_json(plugin_ns, plugin_set, set_uid_, name, "gpu-1", "p1")));
    kube::Request status = kube::patch(resource::pods, {std::string(plugin_ns), name},
                                       kube::PatchType::merge, ready_status(fleet.loop.now()));
    status.subresource = "status";
    fleet.must(status);
  }
  // As a kubelet reports it.
  void fail_prepare(std::string_view message) {
    std::string now = format_rfc3339(fleet.loop.now());
    fleet.must(kube::create(
        resource::events, "default",
        json_of(fmt::format(
            R"({{"apiVersion":"v1","kind":"Event","metadata":{{"generateName":"train-"}},
                 "involvedObject":{{"apiVersion":"v1","kind":"Pod","namespace":"default",
                                    "name":"train","uid":"{0}"}},
                 "type":"Warning","reason":"FailedPrepareDynamicResources","message":"{1}",
                 "firstTimestamp":"{2}","lastTimestamp":"{2}","count":1}})",
            pod_uid_, message, now))));
  }
  Json pod() { return fleet.must(kube::get(resource::pods, {"default", "train"})); }
  std::string phase() {
    Json object = pod();
    return std::string(text_at(object, "status", "phase"));
  }
  bool has_plugin(const std::string& name) {
    return fleet.exists(resource::pods, {std::string(plugin_ns), name});
  }
  std::string condition() {
    Json object = pod();
    const Json* conditions = find(object, "status", "conditions");
    if (conditions == nullptr) return {};
    for (const Json& condition : conditions->get_array()) {
      if (text_at(condition, "type") == upgrade::bad_config_condition) {
        return std::string(text_at(condition, "status"));
      }
    }
    return {};
  }
  int events_with(std::string_view reason) {
    int found = 0;
    for (const auto& event : fleet.list(resource::events)) {
      if (text_at(*event, "reason") == reason) ++found;
    }
    return found;
  }

  TestFleet fleet{{1, 1}};
  TestController one{fleet};
  std::unique_ptr<FailureController> failures;

 private:
  SeededRandom random_{5};
  std::string set_uid_;
  std::string pod_uid_;
};

TEST_F(FailureTest, RestartsAStalePluginOnce) {
  start();
  fail_prepare(mismatch);
  fleet.loop.run_for(minutes(1));
  EXPECT_FALSE(has_plugin("plugin-1"));
  EXPECT_EQ(failures->counts().plugins_restarted, 1U);
  EXPECT_EQ(events_with("StalePluginRestarted"), 1);

  // Another of its kind does not help either, and says so.
  add_plugin("plugin-2");
  fleet.loop.run_for(minutes(1));
  fail_prepare(mismatch);
  fleet.loop.run_for(minutes(5));
  EXPECT_TRUE(has_plugin("plugin-2"));
  EXPECT_EQ(failures->counts().plugins_restarted, 1U);
  EXPECT_EQ(events_with("PluginStaysStale"), 1);
}

TEST_F(FailureTest, ItsCountsAreMetrics) {
  start(upgrade::OnBadConfig::fail);
  fail_prepare(mismatch);
  fleet.loop.run_for(minutes(1));
  fail_prepare("prepare failed: error applying GPU config: too many partitions");
  fleet.loop.run_for(minutes(1));
  const std::string text = failures->metrics();
  for (const char* line :
       {"lockstep_stale_plugins_restarted_total 1\n", "lockstep_bad_configs_total 1\n",
        "lockstep_bad_config_pods_failed_total 1\n",
        "lockstep_failure_controller_errors_total 0\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST_F(FailureTest, FinishesWhatAnEarlierProcessHadNoted) {
  start();
  // Killed between the note and the restart: the deletion never arrives.
  kube::CallPlan lost;
  lost.fault = kube::Fault::request_lost;
  one.faults.on_call(kube::ScriptedFaults::calls(kube::Verb::remove, resource::pods), lost);
  fail_prepare(mismatch);
  ASSERT_TRUE(fleet.run_until([&] { return one.faults.unused() == 0; }, minutes(1)));
  ASSERT_TRUE(has_plugin("plugin-1"));
  make();
  fleet.loop.run_for(minutes(1));
  EXPECT_FALSE(has_plugin("plugin-1"));
}

TEST_F(FailureTest, LeavesThePluginToAnUpgrade) {
  start();
  fleet.set_policy(R"({"autoUpgrade":false})");
  fleet.patch_node("gpu-1",
                   R"({"metadata":{"labels":{"nvidia.com/gpu-driver-upgrade-state":
                       "validation-required"}}})");
  fail_prepare(mismatch);
  fleet.loop.run_for(minutes(5));
  EXPECT_TRUE(has_plugin("plugin-1"));
  EXPECT_EQ(failures->reasons().at("gpu-1").name, "UpgradeInProgress");
  fleet.patch_node("gpu-1",
                   R"({"metadata":{"labels":{"nvidia.com/gpu-driver-upgrade-state":
                       "upgrade-done"}}})");
  fleet.loop.run_for(minutes(1));
  EXPECT_FALSE(has_plugin("plugin-1"));
}

TEST_F(FailureTest, DoesNothingWhileItDoesNotLead) {
  start();
  failures->follow();
  fail_prepare(mismatch);
  // The newer of two events counts.
  fleet.loop.run_for(seconds(2));
  fail_prepare(wrong_request);
  fleet.loop.run_for(minutes(5));
  EXPECT_TRUE(has_plugin("plugin-1"));
  EXPECT_EQ(condition(), "");
  failures->lead();
  fleet.loop.run_for(minutes(1));
  EXPECT_EQ(condition(), "True");
}

TEST_F(FailureTest, SaysOnThePodThatItsRequestIsWrong) {
  start();
  fail_prepare(wrong_request);
  fleet.loop.run_for(minutes(10));
  EXPECT_EQ(condition(), "True");
  EXPECT_EQ(phase(), "Pending");
  EXPECT_TRUE(has_plugin("plugin-1"));
  EXPECT_EQ(failures->counts().bad_configs, 1U);
  EXPECT_EQ(events_with("PrepareFailedPermanently"), 1);
}

TEST_F(FailureTest, EndsThePodByPolicy) {
  start(upgrade::OnBadConfig::fail);
  fail_prepare(wrong_request);
  fleet.loop.run_for(minutes(10));
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(failures->counts().pods_failed, 1U);
}

TEST_F(FailureTest, IsNotMisledByAnotherPodOfThatName) {
  start();
  fail_prepare(wrong_request);
  fleet.must(
      kube::remove(resource::pods, {"default", "train"}, JsonObject{{"gracePeriodSeconds", 0}}));
  fleet.must(kube::create(resource::pods, "default", gpu_pod_json("train", "gpu-1")));
  fleet.loop.run_for(minutes(5));
  EXPECT_EQ(condition(), "");
}

// Any user who may create Events can say that of a pod of their own.
TEST_F(FailureTest, AForgedEventRestartsNoPluginWithoutAPodThatWaitsForItsGpu) {
  start(upgrade::OnBadConfig::leave, false);
  fail_prepare(mismatch);
  fleet.loop.run_for(minutes(5));
  EXPECT_TRUE(has_plugin("plugin-1")) << "the pod's claim does not exist";
  add_claim("dra.net");
  fleet.loop.run_for(seconds(2));
  fail_prepare(mismatch);
  fleet.loop.run_for(minutes(5));
  EXPECT_TRUE(has_plugin("plugin-1")) << "its claim is of no GPU";
  EXPECT_EQ(failures->counts().plugins_restarted, 0U);
}

TEST_F(FailureTest, AForgedEventRestartsNoPluginThatStartedAfterTheDriver) {
  start();
  fleet.must(kube::remove(resource::pods, {std::string(plugin_ns), "plugin-1"},
                          JsonObject{{"gracePeriodSeconds", 0}}));
  add_plugin("plugin-2");
  fleet.loop.run_for(minutes(1));
  for (int i = 0; i < 10; ++i) {
    fail_prepare(mismatch);
    fleet.loop.run_for(minutes(1));
  }
  EXPECT_TRUE(has_plugin("plugin-2"));
  EXPECT_EQ(failures->counts().plugins_restarted, 0U);
  EXPECT_EQ(failures->reasons().at("gpu-1").name, "PluginStaysStale");
  EXPECT_EQ(events_with("PluginStaysStale"), 1) << "ten Events of a tenant are one of ours";
}

// What a forged Event can do: what the next upgrade would do anyway, once for a driver.
TEST_F(FailureTest, ForgedEventsRestartAPluginThatIsOlderThanTheDriverOnce) {
  start();
  for (int i = 0; i < 10; ++i) {
    fail_prepare(mismatch);
    fleet.loop.run_for(minutes(1));
    if (!has_plugin("plugin-1") && !has_plugin("plugin-2")) add_plugin("plugin-2");
  }
  EXPECT_TRUE(has_plugin("plugin-2"));
  EXPECT_EQ(failures->counts().plugins_restarted, 1U);
}

}  // namespace
}  // namespace lockstep::controller::failure_controller_test
