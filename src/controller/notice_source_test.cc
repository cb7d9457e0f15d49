#include "controller/notice_source.h"

#include <deque>

#include <gtest/gtest.h>

#include "controller/controller_test_util.h"

namespace lockstep::controller::notice_source_test {
namespace {

// Takes everything, and remembers it.
class TakingSender : public notify::Sender {
 public:
  explicit TakingSender(Loop& loop) : loop_(loop) {}
  void send(std::string body, std::function<void(Result<void>)> done) override {
    auto json = parse_json(body);
    EXPECT_TRUE(json.has_value()) << body;
    if (json) messages.push_back(*json);
    loop_.post([done = std::move(done)] { done({}); });
  }
  std::vector<Json> messages;

 private:
  Loop& loop_;
};

struct NoticeScene : UpgradeScene {
  explicit NoticeScene(FleetSetup setup = {})
      : UpgradeScene(setup),
        sender(fleet.loop),
        notifier(sender, fleet.loop, fleet.random, one.log, {}) {}

  void tell() {
    source = std::make_unique<NoticeSource>(one.controller->watch(), fleet.loop, notifier);
    source->lead();
    settle();
  }
  void settle() { fleet.loop.run_for(seconds(5)); }
  // "NodeFailed Node gpu-1 DriverCrashLoop", in their order.
  std::vector<std::string> told() const {
    std::vector<std::string> lines;
    for (const Json& message : sender.messages) {
      lines.push_back(fmt::format("{} {} {}", text_at(message, "event"),
                                  text_at(message, "subject"), text_at(message, "reason")));
    }
    return lines;
  }
  void fail_node(const std::string& name) {
    fleet.patch_node(name, R"({"metadata":{
        "labels":{"nvidia.com/gpu-driver-upgrade-state":"upgrade-failed"},
        "annotations":{"lockstep.dev/upgrade-failure":"ProtectedPods: 1 pod may not be evicted"}}})");
  }

  TakingSender sender;
  notify::Notifier notifier;
  std::unique_ptr<NoticeSource> source;
};

using Lines = std::vector<std::string>;

TEST(NoticeSource, TellsOfTheBeginningAndTheEndOfAnUpgrade) {
  NoticeScene scene;
  scene.start();
  scene.tell();
  EXPECT_EQ(scene.told(), Lines()) << "what is so already is not news";
  scene.upgrade();
  ASSERT_TRUE(scene.finish());
  scene.settle();
  EXPECT_EQ(scene.told(),
            (Lines{"UpgradeBegan The fleet UpgradeBegan", "UpgradeEnded The fleet UpgradeEnded"}));
}

TEST(NoticeSource, TellsOfAFailedNodeWithItsReasonAndEvidence) {
  NoticeScene scene;
  scene.start();
  scene.tell();
  scene.fail_node("gpu-2");
  scene.settle();
  ASSERT_EQ(scene.sender.messages.size(), 1U);
  const Json& message = scene.sender.messages[0];
  EXPECT_EQ(text_at(message, "event"), "NodeFailed");
  EXPECT_EQ(text_at(message, "subject"), "Node gpu-2");
  EXPECT_EQ(text_at(message, "reason"), "ProtectedPods");
  EXPECT_EQ(text_at(message, "text"), "1 pod may not be evicted");
  EXPECT_EQ(text_at(message, "severity"), "warning");
  EXPECT_NE(text_at(message, "remedy").find("lockstep retry gpu-2"), std::string::npos);
}

TEST(NoticeSource, TellsOfAHoldThatAPersonMustEnd) {
  NoticeScene scene({1, 4, R"({"maxParallelUpgrades":1,"maxUnavailable":"100%"})"});
  scene.start();
  scene.tell();
  scene.upgrade();
  ASSERT_TRUE(
      scene.fleet.run_until([&] { return scene.fleet.unschedulable("gpu-1"); }, minutes(5)));
  // A rollout in line behind the first one needs no action of a user.
  scene.settle();
  scene.fleet.set_policy(R"({"maxParallelUpgrades":-1})");
  scene.settle();
  Lines told = scene.told();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0], "UpgradeBegan The fleet UpgradeBegan");
  EXPECT_EQ(told[1], "PoolHeld The fleet InvalidPolicy");
  EXPECT_EQ(text_at(scene.sender.messages[1], "severity"), "critical");
}

TEST(NoticeSource, OnlyWhileItLeads) {
  NoticeScene scene;
  scene.start();
  scene.tell();
  scene.source->follow();
  scene.fail_node("gpu-2");
  scene.settle();
  EXPECT_EQ(scene.told(), Lines());
  // The next leader reports what happened just now, and nothing older.
  scene.source->lead();
  scene.settle();
  EXPECT_EQ(scene.told(), (Lines{"NodeFailed Node gpu-2 ProtectedPods"}));
  scene.source->follow();
  scene.fail_node("gpu-3");
  scene.fleet.loop.run_for(minutes(10));
  scene.source->lead();
  scene.settle();
  EXPECT_EQ(scene.told().size(), 1U);
}

const char* rollout_definition =
    R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
        "metadata":{"name":"driverrollouts.lockstep.dev"},
        "spec":{"group":"lockstep.dev","scope":"Cluster",
          "names":{"kind":"DriverRollout","listKind":"DriverRolloutList","plural":"driverrollouts"},
          "versions":[{"name":"v1alpha1","served":true,"storage":true,"schema":{"openAPIV3Schema":
            {"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})";

TEST(NoticeSource, TellsOfARolloutThatChangesItsPhase) {
  NoticeScene scene;
  scene.fleet.must(
      kube::create(resource::custom_resource_definitions, "", *parse_json(rollout_definition)));
  scene.one.base_options.fleet.rollouts.enabled = true;
  scene.one.make();
  scene.start();
  scene.tell();
  auto write = [&](rollout::Phase phase, const fleet::ReasonName& reason) {
    rollout::RolloutStatus status;
    status.phase = phase;
    status.phase_since = scene.fleet.loop.now();
    status.reason = reason;
    status.message = "the evidence of " + reason.str();
    JsonObject object{{"apiVersion", "lockstep.dev/v1alpha1"},
                      {"kind", "DriverRollout"},
                      {"metadata", JsonObject{{"name", "spring"}}},
                      {"spec", JsonObject{{"driver", JsonObject{{"kind", "ClusterPolicy"}}}}},
                      {"status", rollout::rollout_status_to_json(status)}};
    ObjectKey key{"", "spring"};
    if (scene.fleet.exists(fleet::driver_rollouts, key)) {
      scene.fleet.must(kube::patch(fleet::driver_rollouts, key, kube::PatchType::merge, object));
    } else {
      scene.fleet.must(kube::create(fleet::driver_rollouts, "", object));
    }
    scene.settle();
  };
  write(rollout::Phase::upgrading, fleet::Reason::wave_open);
  write(rollout::Phase::upgrading, fleet::Reason::upgrading);
  write(rollout::Phase::held, fleet::Reason::gate_failed);
  EXPECT_EQ(scene.told(), (Lines{"PhaseChanged DriverRollout spring WaveOpen",
                                 "RolloutHeld DriverRollout spring GateFailed"}));
  const Json& held = scene.sender.messages.back();
  EXPECT_EQ(text_at(held, "severity"), "critical");
  EXPECT_EQ(text_at(held, "text"), "the evidence of GateFailed");
  EXPECT_NE(text_at(held, "remedy").find("lockstep rollout"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::controller::notice_source_test
