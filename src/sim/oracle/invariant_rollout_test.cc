#include "sim/oracle/invariant_rollout.h"

#include "sim/oracle/invariant_test_util.h"
#include "sim/scenario/rollout_part.h"
#include "view/rollout_watch.h"

namespace lockstep::sim::invariant_rollout_test {
namespace {

class RolloutInvariantTest : public InvariantTest {
 protected:
  void start_rollout() {
    scenario.rollout =
        JsonObject{{"driver", JsonObject{{"kind", "ClusterPolicy"}, {"name", "cluster-policy"}}},
                   {"waves", JsonArray{wave("canary", JsonObject{{"count", 1}}),
                                       wave("rest", JsonObject{{"rest", true}})}}};
    start(JsonObject{{"autoUpgrade", true}, {"maxParallelUpgrades", 0}, {"maxUnavailable", 4}});
    part.emplace(*cluster, scenario, 1);
    ASSERT_TRUE(part->start());
    change_driver();
    status.phase = rollout::Phase::upgrading;
    status.open_waves = 1;
    status.open_for.revisions = {{"gpu-operator/nvidia-driver-daemonset", newest()}};
    status.to = status.open_for;
    status.waves.resize(2);
    status.waves[0].name = "canary";
    status.waves[1].name = "rest";
    write_status();
    rollout::RecordedWave record{rollout::revision_id(status.to), {"gpu-1"}};
    ObjectKey key{"lockstep-system", view::wave_name(std::string(rollout_name), 0)};
    EXPECT_EQ(act(kube::create(resource::config_maps, key.ns,
                               view::wave_to_json(key, std::string(rollout_name), 0, record, ""))),
              201);
    cluster->loop.run_for(minutes(1));
  }
  static Json wave(std::string_view name, JsonObject nodes) {
    return JsonObject{{"name", name}, {"nodes", std::move(nodes)}};
  }
  std::string newest() {
    const PodTruth* pod = witness->truth().driver_pod("gpu-1");
    return witness->truth().driver_of(*pod->object)->newest;
  }
  // Beside the driver pod that the node has.
  void add_newest_pod(const std::string& node, const std::string& name) {
    JsonObject pod =
        cluster->get(resource::pods, pod_on(driver_daemon_set_name, node))->as_object();
    Json metadata = pod.at("metadata");
    apply_merge_patch(metadata,
                      JsonObject{{"name", name},
                                 {"uid", nullptr},
                                 {"resourceVersion", nullptr},
                                 {"labels", JsonObject{{fleet::revision_label, newest()}}}});
    pod["metadata"] = std::move(metadata);
    ASSERT_TRUE(cluster->call(kube::create(resource::pods, "gpu-operator", std::move(pod))));
  }
  void upgrade_canary() {
    status.to = status.open_for;
    EXPECT_TRUE(
        cluster->call(kube::remove(resource::pods, pod_on(driver_daemon_set_name, "gpu-1"))));
    cluster->loop.run_for(minutes(5));
  }
  void write_status() {
    kube::Request request =
        merge_patch(fleet::driver_rollouts, {"", std::string(rollout_name)},
                    JsonObject{{"status", rollout::rollout_status_to_json(status)}});
    request.subresource = "status";
    EXPECT_EQ(act(request), 200);
  }

  Scenario scenario;
  std::optional<RolloutPart> part;
  rollout::RolloutStatus status;
};

TEST_F(RolloutInvariantTest, SeesANodeThatBeginsOutsideTheOpenWaves) {
  start_rollout();
  go("gpu-1", {State::required, State::cordon});
  expect_innocent();
  go("gpu-2", {State::required, State::cordon});
  expect_violation("gpu-2 was begun, and its wave (2) is not open");
}

TEST_F(RolloutInvariantTest, SeesANodeThatBeginsWhileTheWavesAreClosed) {
  start_rollout();
  status.phase = rollout::Phase::held;
  status.reason = fleet::Reason::aborted;
  status.message = "by alice";
  status.closed = true;
  write_status();
  cluster->loop.run_for(minutes(1));
  go("gpu-1", {State::required, State::cordon});
  expect_violation("gpu-1 was begun, and the waves are closed");
}

TEST_F(RolloutInvariantTest, SeesANodeThatBeginsWithAVersionThatTheWavesAreNotOpenFor) {
  start_rollout();
  status.open_for.revisions = {{"gpu-operator/nvidia-driver-daemonset", "another"}};
  write_status();
  cluster->loop.run_for(minutes(1));
  go("gpu-1", {State::required, State::cordon});
  expect_violation("gpu-1 was begun, and the waves are open for another version");
}

// Of two driver pods, or of one that was deleted just now, a controller may know either.
TEST_F(RolloutInvariantTest, ANodeMayBeBegunByEitherOfItsDriverPods) {
  start_rollout();
  ASSERT_TRUE(part->change_spec(JsonObject{{"outsideWave", "accept"}}));
  cluster->loop.run_for(minutes(1));
  add_newest_pod("gpu-2", "zz-2");
  go("gpu-2", {State::required, State::cordon});
  expect_innocent();
  add_newest_pod("gpu-3", "zz-3");
  ASSERT_TRUE(cluster->call(kube::remove(resource::pods, {"gpu-operator", "zz-3"})));
  cluster->loop.run_for(minutes(1));
  go("gpu-3", {State::required, State::cordon});
  expect_violation("gpu-3 was begun, and its wave (2) is not open");
}

TEST_F(RolloutInvariantTest, SeesANodeThatBeginsWhileTheRolloutIsPaused) {
  start_rollout();
  ASSERT_TRUE(part->change_spec(JsonObject{{"paused", true}}));
  cluster->loop.run_for(minutes(1));
  go("gpu-1", {State::required, State::cordon});
  expect_violation("gpu-1 was begun, and the rollout is paused");
}

TEST_F(RolloutInvariantTest, SeesAWaveThatOpensOnAnythingButPassed) {
  start_rollout();
  for (rollout::Outcome outcome : {rollout::Outcome::running, rollout::Outcome::inconclusive}) {
    status.open_waves = 1;
    status.waves[0].verdict = outcome;
    write_status();
    status.open_waves = 2;
    write_status();
  }
  ASSERT_EQ(witness->violations().size(), 2U);
  EXPECT_NE(witness->violations()[1].find("although wave canary is Inconclusive"),
            std::string::npos)
      << witness->violations()[1];
}

TEST_F(RolloutInvariantTest, SeesAWaveThatPassesWithoutAnUpgradedNode) {
  start_rollout();
  status.to = status.open_for;
  status.waves[0].verdict = rollout::Outcome::passed;
  write_status();
  expect_violation("wave canary has passed, and none of its nodes has run");
}

TEST_F(RolloutInvariantTest, AWaveThatAUserTookUponThemselvesMayPass) {
  start_rollout();
  status.to = status.open_for;
  status.waves[0].verdict = rollout::Outcome::passed;
  status.waves[0].approved_by = "alice";
  write_status();
  expect_innocent();
}

TEST_F(RolloutInvariantTest, AWaveThatOpensOnPassedIsFine) {
  start_rollout();
  upgrade_canary();
  status.waves[0].verdict = rollout::Outcome::passed;
  write_status();
  status.open_waves = 2;
  write_status();
  expect_innocent();
}

TEST_F(RolloutInvariantTest, SeesARollbackThatLeavesANodeOnTheBadVersion) {
  start_rollout();
  status.waves[0].opened = cluster->loop.now();
  status.from.version = "0.0.1";
  status.reason = fleet::Reason::version_rolled_back;
  status.phase = rollout::Phase::rolling_back;
  write_status();
  expect_innocent();
  status.phase = rollout::Phase::rolled_back;
  write_status();
  ASSERT_EQ(witness->violations().size(), 4U) << "no node runs it";
  EXPECT_NE(witness->violations()[0].find("is rolled back to 0.0.1, and gpu-1 runs"),
            std::string::npos);
}

// gpu-2 was never in an open wave: it was replaced meanwhile, and came up with the new driver.
TEST_F(RolloutInvariantTest, SeesARollbackThatLeavesANodeOutsideTheWavesOnTheRejectedVersion) {
  start_rollout();
  status.waves[0].opened = cluster->loop.now();
  status.from.version = cluster->kubelets().machine("gpu-1").version();
  ASSERT_TRUE(cluster->call(kube::remove(resource::pods, pod_on(driver_daemon_set_name, "gpu-2"))));
  cluster->loop.run_for(minutes(10));
  status.reason = fleet::Reason::version_rolled_back;
  status.phase = rollout::Phase::rolling_back;
  write_status();
  expect_innocent();
  status.phase = rollout::Phase::rolled_back;
  write_status();
  expect_violation("and gpu-2 runs");
}

TEST_F(RolloutInvariantTest, ARollbackThatEndsOnTheVersionBeforeIsFine) {
  start_rollout();
  status.waves[0].opened = cluster->loop.now();
  status.from.version = cluster->kubelets().machine("gpu-1").version();
  status.reason = fleet::Reason::version_rolled_back;
  status.phase = rollout::Phase::rolling_back;
  write_status();
  status.phase = rollout::Phase::rolled_back;
  write_status();
  expect_innocent();
}

TEST_F(RolloutInvariantTest, SeesARollbackThatLeavesANodeOutsideTheWavesOnTheBadVersion) {
  start_rollout();
  status.from.version = cluster->kubelets().machine("gpu-1").version();
  status.to.version = new_version;
  restart_driver("gpu-3");
  ASSERT_TRUE(
      run_until(*cluster, [&] { return has_driver(*cluster, "gpu-3", new_version); }, minutes(10)));
  status.reason = fleet::Reason::version_rolled_back;
  status.phase = rollout::Phase::rolling_back;
  write_status();
  EXPECT_TRUE(cluster->set_driver_version(old_version));
  cluster->loop.run_for(minutes(1));
  auto ended = [&] {
    for (const std::string& text : witness->violations()) {
      if (text.find("(RollbackEndsBack)") != std::string::npos) return text;
    }
    return std::string();
  };
  status.phase = rollout::Phase::rolled_back;
  write_status();
  EXPECT_NE(ended().find("is rolled back to 580.105.08, and gpu-3 runs 580.126.20"),
            std::string::npos)
      << ended();
}

class RollbackEvidenceTest : public RolloutInvariantTest {
 protected:
  void start_failing() {
    start_rollout();
    invariants = {"RollbackNeedsEvidence"};
  }
  void fail(const std::string& node, const std::vector<State>& way) {
    go(node, way);
    patch(node, step(State::failed));
  }
  void roll_back(fleet::ReasonName reason, std::string by = "") {
    status.phase = rollout::Phase::rolling_back;
    status.reason = std::move(reason);
    status.history.push_back({cluster->loop.now(), status.phase, "", status.reason, "", by});
    write_status();
  }
  const std::vector<State> to_evictions = {State::required, State::cordon, State::wait_for_jobs,
                                           State::pod_deletion};
};

TEST_F(RollbackEvidenceTest, SeesARollbackForANodeWhoseDriverWasNeverRestarted) {
  start_failing();
  fail("gpu-1", to_evictions);
  roll_back(fleet::Reason::nodes_failed);
  expect_violation("rolls back by itself (NodesFailed), and 0 of its nodes failed after");
}

TEST_F(RollbackEvidenceTest, ANodeThatFailedAtItsRestartOrLaterIsEvidence) {
  for (State last : {State::pod_restart, State::validation}) {
    start_failing();
    go_to_restart("gpu-1");
    fail("gpu-1", last == State::validation ? std::vector{last} : std::vector<State>{});
    roll_back(fleet::Reason::nodes_failed);
    expect_innocent();
    witness.reset();
    part.reset();
    status = {};
  }
}

TEST_F(RollbackEvidenceTest, SeesOneForANodeOfAClosedWaveAndOneForNoNodeAtAll) {
  start_failing();
  go_to_restart("gpu-3");
  fail("gpu-3", {});
  roll_back(fleet::Reason::nodes_failed);
  expect_violation("and 0 of its nodes failed after");
}

TEST_F(RollbackEvidenceTest, SeesOneForNodesThatWereRetriedLongAgo) {
  start_failing();
  go_to_restart("gpu-1");
  fail("gpu-1", {});
  patch("gpu-1", step(State::required));
  cluster->loop.run_for(minutes(1));
  roll_back(fleet::Reason::nodes_failed);
  expect_violation("and 0 of its nodes failed after");
}

TEST_F(RollbackEvidenceTest, SeesThatALaterWaveToleratesMore) {
  start_failing();
  EXPECT_TRUE(cluster->call(merge_patch(
      fleet::cluster_policies, {"", "cluster-policy"},
      JsonObject{{"spec", JsonObject{{"driver", JsonObject{{"upgradePolicy",
                                                            JsonObject{{"maxFailures", 2}}}}}}}})));
  status.open_waves = 2;
  write_status();
  cluster->loop.run_for(minutes(1));
  go_to_restart("gpu-2");
  fail("gpu-2", {});
  fail("gpu-3", to_evictions);
  roll_back(fleet::Reason::nodes_failed);
  expect_violation(
      "and 1 of its nodes failed after their driver was restarted (at least 2 needed)");
}

TEST_F(RollbackEvidenceTest, SeesOneForAGateOrABakeOfADriverThatNoNodeHasRun) {
  start_failing();
  roll_back(fleet::Reason::gate_failed);
  expect_violation("rolls back by itself (GateFailed), and no node has run");
}

TEST_F(RollbackEvidenceTest, AGateThatFailedOnANodeWithTheDriverIsEvidence) {
  start_failing();
  upgrade_canary();
  roll_back(fleet::Reason::gate_failed);
  expect_innocent();
}

TEST_F(RollbackEvidenceTest, AUserNeedsNone) {
  start_failing();
  roll_back(fleet::Reason::rollback_asked, "alice");
  status.phase = rollout::Phase::upgrading;
  write_status();
  roll_back(fleet::Reason::version_rolled_back);
  expect_innocent();
}

class ContainmentInvariantTest : public RolloutInvariantTest {
 protected:
  // The driver pod of a node whose wave is not open comes back with the new driver.
  void leak(const std::string& node) {
    status.stable.revisions = {{"gpu-operator/nvidia-driver-daemonset", "old"}};
    status.to = status.open_for;
    write_status();
    EXPECT_TRUE(cluster->call(kube::remove(resource::pods, pod_on(driver_daemon_set_name, node))));
    ASSERT_TRUE(
        run_until(*cluster, [&] { return has_driver(*cluster, node, new_version); }, minutes(10)));
  }
  // Long enough for every controller to see it, and then something happens.
  void wait() {
    cluster->loop.run_for(minutes(3));
    write_status();
  }
};

TEST_F(ContainmentInvariantTest, SeesADriverInServiceThatNoOpenWaveAllows) {
  start_rollout();
  leak("gpu-3");
  expect_innocent();
  status.message = "anything";
  wait();
  expect_violation("gpu-3 has been in service for");
}

// The first list of a new controller fails again and again.
TEST_F(ContainmentInvariantTest, WhatNoAnswerHasShownIsHeldAgainstTheControllerOnlyAfterOneHas) {
  blindness = minutes(10);
  start_rollout();
  witness->see_controllers(true);
  kube::Request pods = kube::list(resource::pods);
  pods.with("limit", "500");
  witness->see_call(1, pods);
  leak("gpu-3");
  for (int i = 0; i < 15; ++i) {
    cluster->loop.run_for(minutes(2));
    witness->see_reply(1, pods, kube::Response{500, {}, std::nullopt});
    status.message = std::to_string(i);
    write_status();
  }
  expect_innocent();
  kube::ListBody all;
  all.resource_version = std::to_string(cluster->backend.store.version());
  witness->see_reply(1, pods, kube::Response{200, all, std::nullopt});
  status.message = "anything";
  wait();
  expect_violation("gpu-3 has been in service for");
}

TEST_F(ContainmentInvariantTest, ANodeThatIsTakenOutOfServiceIsFine) {
  start_rollout();
  leak("gpu-3");
  patch("gpu-3", JsonObject{{"spec", JsonObject{{"unschedulable", true}}}});
  status.message = "anything";
  wait();
  expect_innocent();
}

TEST_F(ContainmentInvariantTest, SeesANodeTakenOutOfServiceForADriverThatItMayHave) {
  start_rollout();
  leak("gpu-1");
  cluster->loop.run_for(minutes(1));
  Json contained = step(State::required, JsonObject{{fleet::unvalidated_annotation, "true"}});
  contained.as_object()["spec"] = JsonObject{{"unschedulable", true}};
  patch("gpu-1", std::move(contained));
  expect_violation("gpu-1 was taken out of service for its driver, which its rollout allows");
}

TEST_F(ContainmentInvariantTest, ANodeWhoseWaveIsOpenOrThatAUserAcceptsIsFine) {
  start_rollout();
  leak("gpu-1");
  ASSERT_TRUE(part->change_spec(JsonObject{{"outsideWave", "accept"}}));
  leak("gpu-3");
  status.message = "anything";
  wait();
  expect_innocent();
}

// Its driver came while the node was cordoned, as in every upgrade.
TEST_F(ContainmentInvariantTest, WhatWasUpgradedInAnOpenWaveStaysAllowed) {
  start_rollout();
  patch("gpu-1", JsonObject{{"spec", JsonObject{{"unschedulable", true}}}});
  leak("gpu-1");
  cluster->loop.run_for(minutes(1));
  status.open_waves = 0;
  write_status();
  patch("gpu-1", JsonObject{{"spec", JsonObject{{"unschedulable", nullptr}}}});
  status.message = "anything";
  wait();
  expect_innocent();
}

TEST_F(ContainmentInvariantTest, WithoutAControllerNobodyCanDoIt) {
  start_rollout();
  witness->see_controllers(false);
  leak("gpu-3");
  status.message = "anything";
  wait();
  expect_innocent();
  witness->see_controllers(true);
  status.message = "another thing";
  write_status();
  status.message = "and another";
  wait();
  EXPECT_FALSE(witness->violations().empty());
}

TEST_F(RolloutInvariantTest, SeesARolloutThatIsHeldAndDoesNotSayWhy) {
  start_rollout();
  status.phase = rollout::Phase::held;
  status.closed = true;
  write_status();
  ASSERT_EQ(witness->violations().size(), 1U);
  EXPECT_NE(witness->violations()[0].find("does not say why"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::sim::invariant_rollout_test
