#include "sim/oracle/invariant_tenants.h"

#include "sim/oracle/invariant_test_util.h"
#include "sim/scenario/tenants.h"

namespace lockstep::sim::invariant_tenants_test {
namespace {

class TenantsTest : public InvariantTest {
 protected:
  void start_with(const std::vector<std::string>& parts) {
    start();
    witness.reset();
    for (const std::string& part : parts) EXPECT_TRUE(imitate(*cluster, part));
    cluster->loop.run_for(minutes(1));
    WitnessOptions options;
    options.blindness = seconds(5);
    witness.emplace(*cluster, options);
    invariants = {"OnlyTheDriverCounts"};
  }
  ObjectKey pod_with(std::string_view app, std::string_view node) {
    for (const Pod& pod : pods_in(*cluster, std::string(tenant_namespace), app)) {
      if (node.empty() || pod.node_name == node) return pod.meta.key();
    }
    ADD_FAILURE() << "no " << app << " on " << node;
    return {};
  }
  void go_slowly(const std::string& node, const std::vector<State>& states) {
    go(node, states);
    cluster->loop.run_for(seconds(10));
  }
};

TEST_F(TenantsTest, SeesALookalikeRemovedAsAPartOfTheDriver) {
  for (const auto& [part, app] : {std::pair("driver", driver_daemon_set_name),
                                  {"validator", validator_daemon_set_name},
                                  {"plugin", dra_daemon_set_name}}) {
    start_with({part});
    change_driver();
    go_slowly("gpu-1", {State::required, State::cordon, State::wait_for_jobs, State::pod_deletion,
                        State::pod_restart, State::validation});
    const ObjectKey pod = pod_with(app, "gpu-1");
    EXPECT_EQ(remove(pod), 200);
    expect_violation(pod.text() + " was removed from gpu-1 in validation-required as if it");
  }
}

TEST_F(TenantsTest, AGpuPodIsEvictedWhateverItsLabel) {
  start_with({"gpuPods"});
  auto pods = pods_in(*cluster, std::string(tenant_namespace), driver_daemon_set_name);
  ASSERT_FALSE(pods.empty());
  const std::string node = pods[0].node_name.str();
  change_driver();
  go_slowly(node, {State::required, State::cordon, State::wait_for_jobs, State::pod_deletion});
  EXPECT_EQ(evict(pods[0].meta.key()), 201);
  expect_innocent();
}

TEST_F(TenantsTest, SeesANodeWithoutADriverUpgradedForALookalike) {
  start_with({"driver"});
  meddle(
      "gpu-1",
      JsonObject{{"metadata",
                  JsonObject{{"labels", JsonObject{{"nvidia.com/gpu.deploy.driver", nullptr}}}}}});
  cluster->loop.run_for(minutes(1));
  ASSERT_TRUE(cluster->pods_of(driver_daemon_set_name, "gpu-1").empty());
  patch("gpu-1", step(State::required));
  expect_violation("gpu-1 went to upgrade-required by a pod that only looks like a driver");
}

}  // namespace
}  // namespace lockstep::sim::invariant_tenants_test
