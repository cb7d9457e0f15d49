#include "sim/oracle/invariant_machines.h"

#include "sim/oracle/invariant_test_util.h"

namespace lockstep::sim::invariant_machines_test {
namespace {

constexpr const char* accident = "gpu-1: driver was reloaded under a running GPU pod";

class InvariantMachinesTest : public InvariantTest {
 protected:
  // A pod that uses the GPU of gpu-1, and a new driver that waits for its turn there.
  void start_with_victim() {
    start();
    // Bindings may stay unseen: this test is only about accidents.
    witness->set_blindness(hours(1));
    add_gpu_pod(*cluster, "victim", "gpu-1");
    cluster->loop.run_for(minutes(1));
    change_driver();
  }
  void expect_accidents(size_t count) {
    witness->look_at_machines();
    EXPECT_EQ(cluster->kubelets().accidents().size(), count);
  }
};

TEST_F(InvariantMachinesTest, ADriverThatTheControllerReloadsUnderAGpuPodIsHeldAgainstIt) {
  start_with_victim();
  go("gpu-1", {State::done});
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  cluster->loop.run_for(minutes(5));
  expect_accidents(1);
  expect_violation(accident);
}

TEST_F(InvariantMachinesTest, ItIsSaidWhenItHappensAndOnce) {
  start_with_victim();
  go("gpu-1", {State::done});
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  cluster->loop.run_until([&] { return !witness->violations().empty(); }, minutes(5));
  EXPECT_EQ(cluster->kubelets().machine("gpu-1").module(), Machine::Module::unloading);
  cluster->loop.run_for(minutes(5));
  witness->look_at_machines();
  expect_violation(accident);
}

TEST_F(InvariantMachinesTest, WhatAPersonReloadsIsThatPersons) {
  start_with_victim();
  cordon(*cluster, "gpu-1");
  EXPECT_TRUE(delete_pod_of(*cluster, driver_daemon_set_name, "gpu-1"));
  cluster->loop.run_for(minutes(5));
  expect_accidents(1);
  expect_innocent();
}

TEST_F(InvariantMachinesTest, ADriverThatCrashesIsTheMachines) {
  start_with_victim();
  go("gpu-1", {State::done});
  cluster->kubelets().crash_driver("gpu-1");
  cluster->loop.run_for(minutes(5));
  expect_accidents(1);
  expect_innocent();
}

TEST_F(InvariantMachinesTest, ADriverThatCrashesAfterOurRestartIsTheMachines) {
  start();
  witness->set_blindness(hours(1));
  change_driver();
  go("gpu-1", {State::done});
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  cluster->loop.run_for(minutes(5));
  add_gpu_pod(*cluster, "later", "gpu-1");
  cluster->loop.run_for(minutes(1));
  cluster->kubelets().crash_driver("gpu-1");
  cluster->loop.run_for(minutes(5));
  expect_accidents(1);
  expect_innocent();
}

// The restart was to reload nothing; another client decided too late what it reloads.
TEST_F(InvariantMachinesTest, ADriverThatIsChangedWhileItsPodIsRestartedForACosmeticChangeIsNot) {
  start();
  witness->set_blindness(hours(1));
  add_gpu_pod(*cluster, "victim", "gpu-1");
  EXPECT_TRUE(cluster->call(merge_patch(
      cluster_policies, {"", "cluster-policy"},
      parse_json(R"({"spec": {"daemonsets": {"annotations": {"example.com/a": "b"}}}})").value())));
  cluster->loop.run_for(minutes(1));
  go("gpu-1", {State::done});
  go_to_restart("gpu-1");
  restart_driver("gpu-1");
  EXPECT_TRUE(cluster->set_driver_version(new_version));
  cluster->loop.run_for(minutes(5));
  expect_accidents(1);
  expect_innocent();
}

// A scheduler with a stale view of the node: no controller can see such a pod in time.
TEST_F(InvariantMachinesTest, APodThatIsSentToACordonedNodeAtTheLastMomentIsNot) {
  for (bool at_the_last_moment : {true, false}) {
    start();
    witness->set_blindness(hours(1));
    change_driver();
    go("gpu-1", {State::done});
    go_to_restart("gpu-1");
    cluster->loop.run_for(seconds(1));
    add_gpu_pod(*cluster, "late", "gpu-1");
    cluster->loop.run_for(at_the_last_moment ? seconds(1) : seconds(20));
    restart_driver("gpu-1");
    cluster->loop.run_for(minutes(5));
    expect_accidents(1);
    if (at_the_last_moment) {
      expect_innocent();
    } else {
      expect_violation(accident);
    }
  }
}

}  // namespace
}  // namespace lockstep::sim::invariant_machines_test
