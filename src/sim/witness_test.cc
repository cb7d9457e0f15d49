// Each invariant is broken once, and must be seen.
#include "sim/witness.h"

#include <gtest/gtest.h>

#include "sim/sim_test_util.h"

namespace lockstep::sim {
namespace {

using fleet::State;

class WitnessTest : public testing::Test {
 protected:
  void start(Json policy = JsonObject{{"autoUpgrade", true}}) {
    ClusterOptions options = fleet_of(4);
    options.simulated.fleet.upgrade_policy = std::move(policy);
    cluster.emplace(options);
    ASSERT_TRUE(cluster->start());
    witness.emplace(*cluster);
  }

  void patch(const std::string& node, Json patch) {
    EXPECT_TRUE(cluster->call(merge_patch(resource::nodes, {"", node}, std::move(patch))));
  }
  void set_state(const std::string& node, State state) {
    patch(node, JsonObject{{"metadata",
                            JsonObject{{"labels", JsonObject{{keys.state, to_string(state)}}}}}});
  }
  void go(const std::string& node, const std::vector<State>& states) {
    for (State state : states) set_state(node, state);
  }
  // The only thing that was seen to be wrong.
  std::string violation() {
    EXPECT_EQ(witness->violations().size(), 1);
    return witness->violations().empty() ? "" : witness->violations().front();
  }
  void expect_violation(const std::string& text) {
    EXPECT_NE(violation().find(text), std::string::npos) << violation();
  }

  fleet::Keys keys;
  std::optional<Cluster> cluster;
  std::optional<Witness> witness;
};

TEST_F(WitnessTest, HasNothingToSayOfAProperUpgrade) {
  start();
  go("gpu-1", {State::done, State::required, State::cordon});
  cordon(*cluster, "gpu-1");
  go("gpu-1", {State::wait_for_jobs, State::pod_deletion, State::pod_restart});
  EXPECT_TRUE(delete_pod_of(*cluster, driver_daemon_set_name, "gpu-1"));
  cluster->loop.run_for(minutes(5));
  go("gpu-1", {State::validation, State::uncordon});
  cordon(*cluster, "gpu-1", false);
  go("gpu-1", {State::done});
  witness->look_at_machines();
  EXPECT_EQ(witness->violations(), std::vector<std::string>{});
  EXPECT_EQ(witness->durations().size(), 1);
  EXPECT_TRUE(witness->began().contains("gpu-1"));
  EXPECT_TRUE(witness->returned().contains("gpu-1"));
}

TEST_F(WitnessTest, SeesAStepThatTheStateMachineDoesNotHave) {
  start();
  go("gpu-1", {State::done, State::validation});
  expect_violation(
      "gpu-1 went from upgrade-done to validation-required, which is no step of the upgrade");
}

TEST_F(WitnessTest, SeesMoreNodesUnavailableThanAllowed) {
  start(JsonObject{{"maxParallelUpgrades", 0}, {"maxUnavailable", 1}});
  go("gpu-1", {State::required, State::cordon});
  EXPECT_TRUE(witness->violations().empty());
  go("gpu-2", {State::required, State::cordon});
  expect_violation("gpu-2 was begun with 2 of 4 nodes unavailable, and maxUnavailable is 1");
}

TEST_F(WitnessTest, CountsNodesThatOthersTookOutOfService) {
  start(JsonObject{{"maxParallelUpgrades", 0}, {"maxUnavailable", 1}});
  cluster->kubelets().set_ready("gpu-3", false);
  cluster->loop.run_for(minutes(1));
  go("gpu-1", {State::required, State::cordon});
  expect_violation("gpu-1 was begun with 2 of 4 nodes unavailable, and maxUnavailable is 1");
}

TEST_F(WitnessTest, ANodeThatIsOutOfServiceAlreadyCostsNothing) {
  start(JsonObject{{"maxParallelUpgrades", 0}, {"maxUnavailable", 1}});
  cordon(*cluster, "gpu-1");
  cordon(*cluster, "gpu-2");
  go("gpu-1", {State::required, State::cordon});
  EXPECT_EQ(witness->violations(), std::vector<std::string>{});
}

TEST_F(WitnessTest, SeesMoreUpgradesAtOnceThanAllowed) {
  start(JsonObject{{"maxParallelUpgrades", 1}, {"maxUnavailable", "100%"}});
  go("gpu-1", {State::required, State::cordon});
  go("gpu-2", {State::required, State::cordon});
  expect_violation("gpu-2 was begun as number 2 at a time, and maxParallelUpgrades is 1");
}

TEST_F(WitnessTest, ANodeWhoseChangeWasTakenBackIsNoUpgrade) {
  start(JsonObject{{"maxParallelUpgrades", 1}, {"maxUnavailable", "100%"}});
  go("gpu-1", {State::required, State::uncordon});
  go("gpu-2", {State::required, State::cordon});
  EXPECT_EQ(witness->violations(), std::vector<std::string>{});
}

TEST_F(WitnessTest, SeesTheUncordonOfANodeThatSomebodyElseHadCordoned) {
  start();
  cordon(*cluster, "gpu-1");
  patch("gpu-1",
        JsonObject{{"metadata", JsonObject{{"annotations",
                                            JsonObject{{keys.initially_unschedulable, "true"}}}}}});
  go("gpu-1", {State::required, State::uncordon});
  patch(
      "gpu-1",
      JsonObject{{"metadata",
                  JsonObject{{"labels", JsonObject{{keys.state, to_string(State::done)}}},
                             {"annotations", JsonObject{{keys.initially_unschedulable, nullptr}}}}},
                 {"spec", JsonObject{{"unschedulable", nullptr}}}});
  expect_violation("gpu-1 was uncordoned, and somebody else had cordoned it");
}

TEST_F(WitnessTest, SeesADriverRestartedOnANodeInService) {
  start();
  EXPECT_TRUE(delete_pod_of(*cluster, driver_daemon_set_name, "gpu-1"));
  expect_violation("the driver of gpu-1 was restarted while the node was schedulable");
}

TEST_F(WitnessTest, SeesADriverTakenAwayUnderAGpuPod) {
  start();
  add_gpu_pod(*cluster, "victim", "gpu-1");
  cluster->loop.run_for(minutes(1));
  cordon(*cluster, "gpu-1");
  EXPECT_TRUE(cluster->set_driver_version(new_version));
  cluster->loop.run_for(seconds(10));
  EXPECT_TRUE(delete_pod_of(*cluster, driver_daemon_set_name, "gpu-1"));
  cluster->loop.run_for(minutes(5));
  EXPECT_TRUE(witness->violations().empty());
  witness->look_at_machines();
  expect_violation("gpu-1: driver was reloaded under a running GPU pod");
}

TEST_F(WitnessTest, CountsWhoHasBeenWhere) {
  start();
  go("gpu-1", {State::done, State::required});
  go("gpu-2", {State::done});
  EXPECT_EQ(witness->reached(State::done), 2);
  EXPECT_EQ(witness->reached(State::required), 1);
  EXPECT_EQ(witness->nodes_by_state().at(State::required), 1);
  witness->count_afresh();
  EXPECT_EQ(witness->reached(State::done), 0);
  go("gpu-2", {State::required});
  EXPECT_EQ(witness->reached(State::required), 1);
}

TEST_F(WitnessTest, ForgetsANodeThatIsGone) {
  start();
  go("gpu-1", {State::done});
  EXPECT_TRUE(cluster->call(kube::remove(resource::nodes, {"", "gpu-1"})));
  EXPECT_FALSE(witness->nodes_by_state().contains(State::done));
}

TEST(Transitions, EveryStateHasAWayForwardAndNoneJumps) {
  // Rows of section 2, and the ways back.
  const std::map<State, std::set<State>> allowed = {
      {State::unknown, {State::done, State::required}},
      {State::done, {State::required}},
      {State::required, {State::cordon, State::pod_restart, State::uncordon, State::done}},
      {State::cordon, {State::wait_for_jobs, State::uncordon, State::done}},
      {State::wait_for_jobs, {State::pod_deletion, State::uncordon, State::done}},
      {State::pod_deletion,
       {State::pod_restart, State::drain, State::failed, State::uncordon, State::done}},
      {State::drain, {State::pod_restart, State::failed, State::uncordon, State::done}},
      {State::pod_restart, {State::validation, State::failed, State::wait_for_jobs}},
      {State::validation, {State::pod_restart, State::failed, State::uncordon, State::done}},
      {State::uncordon, {State::done}},
      {State::failed, {State::required, State::validation}},
  };
  for (State from : fleet::all_states) {
    for (State to : fleet::all_states) {
      EXPECT_EQ(is_allowed_transition(from, to), allowed.at(from).contains(to))
          << fleet::display_name(from) << " to " << fleet::display_name(to);
    }
  }
}

}  // namespace
}  // namespace lockstep::sim
