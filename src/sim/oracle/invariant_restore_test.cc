#include "sim/oracle/invariant_restore.h"

#include "sim/actors/versions.h"
#include "sim/oracle/invariant_test_util.h"
#include "sim/scenario/rollout_part.h"

namespace lockstep::sim::invariant_restore_test {
namespace {

class RestoreInvariantTest : public InvariantTest {
 protected:
  void start_rollout() {
    invariants = {"ObjectRestored", "NoRejectedVersion"};
    scenario.rollout =
        JsonObject{{"driver", JsonObject{{"kind", "ClusterPolicy"}, {"name", "cluster-policy"}}}};
    start();
    part.emplace(*cluster, scenario, 1);
    ASSERT_TRUE(part->start());
    set_revision(status.from);
    change_driver();
    set_revision(status.to);
    status.phase = rollout::Phase::gating;
    status.open_waves = 1;
    write_status();
  }
  void set_revision(rollout::DriverRevision& revision) {
    const PodTruth* pod = witness->truth().driver_pod("gpu-1");
    revision.revisions = {
        {"gpu-operator/nvidia-driver-daemonset", witness->truth().driver_of(*pod->object)->newest}};
  }
  void write_status() {
    kube::Request request =
        merge_patch(fleet::driver_rollouts, {"", std::string(rollout_name)},
                    JsonObject{{"status", rollout::rollout_status_to_json(status)}});
    request.subresource = "status";
    EXPECT_EQ(act(request), 200);
    cluster->loop.run_for(seconds(20));
  }
  void enter(rollout::Phase phase, const fleet::ReasonName& reason) {
    status.phase = phase;
    status.reason = reason;
    status.message = reason.str();
    write_status();
  }
  // By the controller.
  void set_driver(Json fields) {
    EXPECT_EQ(act(merge_patch(cluster_policies, {"", "cluster-policy"},
                              JsonObject{{"spec", JsonObject{{"driver", std::move(fields)}}}})),
              200);
    cluster->loop.run_for(seconds(20));
  }
  void roll_back_to(const char* version) {
    enter(rollout::Phase::rolling_back, fleet::Reason::gate_failed);
    set_driver(JsonObject{{"version", version}});
    status.from.version = version;
    enter(rollout::Phase::rolled_back, fleet::Reason::rolled_back);
  }

  Scenario scenario;
  std::optional<RolloutPart> part;
  rollout::RolloutStatus status;
};

TEST_F(RestoreInvariantTest, AnObjectThatIsAsItWasIsFine) {
  start_rollout();
  roll_back_to(old_version);
  expect_innocent();
}

TEST_F(RestoreInvariantTest, SeesAVersionThatNoUserSet) {
  start_rollout();
  enter(rollout::Phase::rolling_back, fleet::Reason::gate_failed);
  set_driver(JsonObject{{"version", ""}});
  expect_violation("cluster-policy was set to {\"version\":\"\"");
}

TEST_F(RestoreInvariantTest, SeesARollbackThatLeavesTheObjectAsItIs) {
  start_rollout();
  enter(rollout::Phase::rolling_back, fleet::Reason::gate_failed);
  enter(rollout::Phase::rolled_back, fleet::Reason::rolled_back);
  expect_violation("instead of {\"version\":\"580.105.08\"");
}

TEST_F(RestoreInvariantTest, SeesMoreThanTheImageChanged) {
  start_rollout();
  set_driver(JsonObject{{"rdma", JsonObject{{"enabled", true}}}});
  expect_violation("more than the driver's image was changed in cluster-policy");
}

TEST_F(RestoreInvariantTest, SeesAWaveThatOpensForARejectedVersionUntilAUserRetries) {
  start_rollout();
  enter(rollout::Phase::rolling_back, fleet::Reason::gate_failed);
  status.open_for = status.to;
  enter(rollout::Phase::upgrading, fleet::Reason::wave_open);
  expect_violation("which was rolled back");
}

TEST_F(RestoreInvariantTest, SeesOneThatAUserSetBackByHandAndAskedToRollBack) {
  start_rollout();
  enter(rollout::Phase::rolling_back, fleet::Reason::version_rolled_back);
  status.last_command = "rollback";
  status.history.push_back(
      {{}, rollout::Phase::rolling_back, "", fleet::Reason::rollback_asked, "asked", "alice"});
  enter(rollout::Phase::rolling_back, fleet::Reason::version_rolled_back);
  status.open_for = status.to;
  enter(rollout::Phase::upgrading, fleet::Reason::wave_open);
  expect_violation("which was rolled back");
}

TEST_F(RestoreInvariantTest, OneThatAUserSetBackByHandIsNotRejected) {
  start_rollout();
  enter(rollout::Phase::rolling_back, fleet::Reason::version_rolled_back);
  status.open_for = status.to;
  enter(rollout::Phase::upgrading, fleet::Reason::wave_open);
  expect_innocent();
}

TEST_F(RestoreInvariantTest, AWaveThatOpensAfterARetryIsFine) {
  start_rollout();
  enter(rollout::Phase::rolling_back, fleet::Reason::gate_failed);
  ASSERT_TRUE(part->command("retry"));
  status.open_for = status.to;
  enter(rollout::Phase::upgrading, fleet::Reason::wave_open);
  expect_innocent();
}

}  // namespace
}  // namespace lockstep::sim::invariant_restore_test
