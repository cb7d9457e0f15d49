#include "upgrade/prepare_failure.h"

#include "upgrade/upgrade_test_util.h"

namespace lockstep::upgrade::prepare_failure_test {
namespace {

constexpr std::string_view mismatch =
    "Failed to prepare dynamic resources: NodePrepareResources failed for claim ml/claim-1: failed "
    "to initialize NVML: Driver/library version mismatch";
constexpr std::string_view wrong_request =
    "Failed to prepare dynamic resources: claim ml/claim-1: the request is wrong: unknown field "
    "\"sharring\"";

TEST(PrepareFailure, IsKnownByItsWords) {
  struct Case {
    std::string_view message;
    PrepareFailure expected;
  };
  for (const Case& one : {
           Case{mismatch, PrepareFailure::stale_plugin},
           Case{"invalid CDI Spec: failed add device \"x-gpu-0\": empty device edits",
                PrepareFailure::stale_plugin},
           Case{wrong_request, PrepareFailure::bad_config},
           Case{"error getting opaque device configs: error decoding config parameters: strict "
                "decoding error: unknown field",
                PrepareFailure::bad_config},
           Case{"the request is wrong, and Driver/library version mismatch",
                PrepareFailure::bad_config},
           Case{"context deadline exceeded", PrepareFailure::passing},
           Case{"DRA driver gpu.nvidia.com is not registered", PrepareFailure::passing},
           Case{"the device is broken: GPU-1 has fallen off the bus", PrepareFailure::passing},
           Case{"", PrepareFailure::passing},
       }) {
    EXPECT_EQ(classify_prepare_failure(one.message), one.expected) << one.message;
  }
}

// KEP-5322's own example, as a kubelet reports it.
constexpr std::string_view too_many =
    "Failed to prepare dynamic resources: prepare dynamic resources: NodePrepareResources failed "
    "for ResourceClaim dep0-shared-gpus-jblsv: error preparing devices for claim 3cf849a7: prepare "
    "failed: error applying GPU config: too many partitions";

TEST(BadConfigPhrases, OfTheKnownDriversAreRecognized) {
  EXPECT_EQ(classify_prepare_failure(too_many), PrepareFailure::bad_config);
  for (const PreparePhrase& phrase : known_phrases()) {
    EXPECT_FALSE(phrase.driver.empty());
    EXPECT_EQ(classify_prepare_failure(fmt::format("prepare failed: {}: x", phrase.words)),
              phrase.kind)
        << phrase.words;
  }
  // What NVIDIA's driver also says of a daemon that is not up yet passes by itself.
  EXPECT_EQ(classify_prepare_failure("error applying GPU config: MPS control daemon is not ready"),
            PrepareFailure::passing);
}

TEST(BadConfigPhrases, OfOtherDriversCanBeAdded) {
  const std::string message = "acme: No Such Profile 7";
  EXPECT_EQ(classify_prepare_failure(message), PrepareFailure::passing);
  EXPECT_EQ(classify_prepare_failure(message, {"no such profile", ""}), PrepareFailure::bad_config);
}

Pod pending_pod(std::string_view name = "train") {
  Pod pod = waiting_in(make_pod(name), "ContainerCreating");
  pod.node_name = "gpu-1";
  pod.spec.resource_claims = {{"gpu", "claim-1", ""}};
  return pod;
}

// A node whose driver has been up for an hour, a plugin from before that, and a pod that waits.
struct HealingScene : Scene {
  fleet::ClientView plugin{"nvidia-dra-driver/plugin", true, nullptr};
  std::vector<HeldPod> held;

  HealingScene() {
    in(State::done);
    Pod pod = make_daemon_pod("plugin-1", test_time - hours(2));
    pod.meta.ns = "nvidia-dra-driver";
    pod.started = test_time - hours(2);
    plugin.pod = share(pod);
    held = {{share(pending_pod()), std::string(mismatch), test_time - minutes(1), true}};
  }
  Healing decide() { return decide_healing(view(), plugin, held, rules.keys, now); }
  void note(std::string_view text) {
    node.meta.annotations.set(Text(healing_annotation), Text(text));
  }
  void change_plugin(const std::function<void(Pod&)>& change) {
    Pod pod = *plugin.pod;
    change(pod);
    plugin.pod = share(std::move(pod));
  }
};

TEST(Healing, IsNotedFirstAndThenDone) {
  HealingScene scene;
  Healing first = scene.decide();
  ASSERT_EQ(first.step, Healing::Step::note);
  EXPECT_EQ(first.reason.name, "StalePlugin");
  EXPECT_NE(first.reason.text.find("ml/train"), std::string::npos) << first.reason.text;
  scene.note(first.annotation);
  EXPECT_EQ(scene.decide().step, Healing::Step::restart);
}

TEST(Healing, IsDoneOnceForADriver) {
  HealingScene scene;
  scene.note(scene.decide().annotation);
  scene.change_plugin([](Pod& pod) {
    pod.meta.uid = "uid-plugin-2";
    pod.started = test_time - minutes(10);
  });
  Healing again = scene.decide();
  EXPECT_EQ(again.step, Healing::Step::none);
  EXPECT_EQ(again.reason.name, "PluginStaysStale");
  EXPECT_NE(again.reason.remedy.find("kubectl -n nvidia-dra-driver logs plugin-1"),
            std::string::npos)
      << again.reason.remedy;
  // The driver was restarted.
  scene.driver->ready_since = test_time - minutes(5);
  EXPECT_EQ(scene.decide().step, Healing::Step::note);
}

TEST(Healing, IsLeftToTheUpgradeWhileThereIsOne) {
  for (State state :
       {State::cordon, State::pod_restart, State::validation, State::uncordon, State::failed}) {
    HealingScene scene;
    scene.in(state);
    Healing healing = scene.decide();
    EXPECT_EQ(healing.step, Healing::Step::wait) << to_string(state);
    EXPECT_EQ(healing.reason.name, "UpgradeInProgress") << to_string(state);
  }
  HealingScene unvalidated;
  unvalidated.node.meta.annotations.set(Text(fleet::unvalidated_annotation), "x");
  EXPECT_EQ(unvalidated.decide().step, Healing::Step::wait);
  // It may wait for its turn for days.
  HealingScene waits;
  waits.in(State::required);
  EXPECT_EQ(waits.decide().step, Healing::Step::note);
}

TEST(Healing, WaitsForTheDriver) {
  HealingScene scene;
  scene.driver = not_ready(*scene.driver);
  EXPECT_EQ(scene.decide().reason.name, "DriverNotReady");
  scene.driver.reset();
  EXPECT_EQ(scene.decide().reason.name, "DriverNotReady");

  HealingScene young;
  young.driver->ready_since = test_time - seconds(10);
  Healing healing = young.decide();
  EXPECT_EQ(healing.step, Healing::Step::wait);
  EXPECT_EQ(healing.again, seconds(20));
}

// Any user may create Events about their own pods, with any words.
TEST(Healing, IsNotDoneForAPluginThatStartedAfterTheDriverWhateverEventsSay) {
  HealingScene scene;
  scene.change_plugin([&](Pod& pod) {
    pod.started = scene.driver->ready_since + minutes(1);
    for (ContainerStatus& status : pod.container_statuses) status.started = pod.started;
  });
  const Healing healing = scene.decide();
  EXPECT_EQ(healing.step, Healing::Step::none);
  EXPECT_EQ(healing.reason.name, "PluginStaysStale");
  EXPECT_NE(healing.reason.text.find("started after the driver"), std::string::npos);
  // In the same second it is not known, but to the controller that has seen it start.
  scene.change_plugin(
      [&](Pod& pod) { pod.container_statuses[0].started = scene.driver->ready_since; });
  EXPECT_EQ(scene.decide().step, Healing::Step::note);
  fleet::NodeView view = scene.view();
  view.known.renewed = {scene.plugin.pod->meta.uid};
  EXPECT_EQ(decide_healing(view, scene.plugin, scene.held, scene.rules.keys, scene.now).step,
            Healing::Step::none);
}

TEST(Healing, NeedsAPodThatReallyWaitsForAGpuClaim) {
  HealingScene without_claim;
  without_claim.held[0].has_gpu_claim = false;
  EXPECT_EQ(without_claim.decide().step, Healing::Step::none);
  EXPECT_EQ(without_claim.decide().reason.name, "");
  // Its claims are prepared: a kubelet pulls images after that.
  for (const char* later : {"ImagePullBackOff", "ErrImagePull", "CreateContainerError"}) {
    HealingScene scene;
    Pod pod = waiting_in(pending_pod(), later);
    scene.held[0].pod = share(std::move(pod));
    EXPECT_EQ(scene.decide().step, Healing::Step::none) << later;
  }
}

TEST(Healing, ForgetsWhatWasSaidOfAnEarlierPlugin) {
  HealingScene scene;
  scene.change_plugin([](Pod& pod) { pod.started = test_time - seconds(30); });
  EXPECT_EQ(scene.decide().step, Healing::Step::none);
  EXPECT_EQ(scene.decide().reason.name, "");
}

TEST(Healing, NeedsAPodThatWaitsAndAPluginThatIsThere) {
  HealingScene running;
  running.held[0].pod = share(make_pod("train"));
  EXPECT_EQ(running.decide().step, Healing::Step::none);

  HealingScene other;
  other.held[0].message = "context deadline exceeded";
  EXPECT_EQ(other.decide().step, Healing::Step::none);

  HealingScene leaving;
  leaving.change_plugin([](Pod& pod) { pod.meta.deleted = test_time; });
  EXPECT_EQ(leaving.decide().step, Healing::Step::none);

  HealingScene gone;
  gone.plugin.pod = nullptr;
  EXPECT_EQ(gone.decide().step, Healing::Step::none);
}

HeldPod wrongly_asked() {
  return {share(pending_pod()), std::string(wrong_request), test_time - minutes(1)};
}

Pod with_condition(Pod pod, std::string_view status, std::string_view message) {
  pod.conditions.push_back(
      {Text(bad_config_condition), Text(status), "BadConfig", Text(message), test_time});
  return pod;
}

TEST(BadConfig, IsSaidOnThePodOnce) {
  HeldPod held = wrongly_asked();
  auto verdict = judge_bad_config(held, OnBadConfig::leave, test_time);
  ASSERT_TRUE(verdict);
  EXPECT_FALSE(verdict->fails);
  EXPECT_EQ(find(verdict->status, "phase"), nullptr);
  const Json* conditions = find(verdict->status, "conditions");
  ASSERT_NE(conditions, nullptr);
  const Json& condition = conditions->get_array().front();
  EXPECT_EQ(text_at(condition, "type"), bad_config_condition);
  EXPECT_EQ(text_at(condition, "status"), "True");
  EXPECT_EQ(text_at(condition, "message"), wrong_request);

  held.pod = share(with_condition(pending_pod(), "True", wrong_request));
  EXPECT_FALSE(judge_bad_config(held, OnBadConfig::leave, test_time));
  held.message = "claim ml/claim-1: the request is wrong: another field";
  EXPECT_TRUE(judge_bad_config(held, OnBadConfig::leave, test_time));
}

TEST(BadConfig, EndsThePodWhereThatIsWanted) {
  auto verdict = judge_bad_config(wrongly_asked(), OnBadConfig::fail, test_time);
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->fails);
  EXPECT_EQ(text_at(verdict->status, "phase"), "Failed");
  EXPECT_EQ(text_at(verdict->status, "reason"), "PrepareFailedPermanently");
  // Also a pod that was marked before the policy requested it.
  HeldPod marked = wrongly_asked();
  marked.pod = share(with_condition(pending_pod(), "True", wrong_request));
  EXPECT_TRUE(judge_bad_config(marked, OnBadConfig::fail, test_time));
}

TEST(BadConfig, IsTakenBackWhenThePodStarts) {
  HeldPod held = wrongly_asked();
  held.pod = share(with_condition(make_pod("train"), "True", wrong_request));
  auto verdict = judge_bad_config(held, OnBadConfig::fail, test_time);
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->clears);
  EXPECT_EQ(text_at(find(verdict->status, "conditions")->get_array().front(), "status"), "False");
  held.pod = share(with_condition(make_pod("train"), "False", wrong_request));
  EXPECT_FALSE(judge_bad_config(held, OnBadConfig::fail, test_time));
}

TEST(BadConfig, IsNothingElse) {
  HeldPod none = wrongly_asked();
  Pod without_claim = pending_pod();
  without_claim.spec.resource_claims.clear();
  none.pod = share(std::move(without_claim));
  EXPECT_FALSE(judge_bad_config(none, OnBadConfig::fail, test_time)) << "it has no claim";
  HeldPod held = wrongly_asked();
  held.message = mismatch;
  EXPECT_FALSE(judge_bad_config(held, OnBadConfig::fail, test_time));
  held = wrongly_asked();
  held.pod = share(terminating(pending_pod()));
  EXPECT_FALSE(judge_bad_config(held, OnBadConfig::fail, test_time));
  held.pod = share(make_pod("train"));
  EXPECT_FALSE(judge_bad_config(held, OnBadConfig::fail, test_time));
}

}  // namespace
}  // namespace lockstep::upgrade::prepare_failure_test
