#include "sim/scenario/tenants.h"

#include "sim/actors/object_facts.h"
#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::tenants_test {
namespace {

TEST(Tenants, WhatIsThereAlreadyGetsAnotherTemplate) {
  Cluster cluster(fleet_of(2));
  ASSERT_TRUE(cluster.start());
  for (const std::string& part : imitations()) {
    ASSERT_TRUE(imitate(cluster, part)) << part;
    cluster.loop.run_for(minutes(1));
    ASSERT_TRUE(imitate(cluster, part)) << part;
  }
  cluster.loop.run_for(minutes(1));
  const std::string ns(tenant_namespace);
  EXPECT_EQ(pods_in(cluster, ns, driver_daemon_set_name).size(), 4U) << "two are of gpuPods";
  EXPECT_EQ(pods_in(cluster, ns, validator_daemon_set_name).size(), 2U);
  EXPECT_EQ(pods_in(cluster, ns, "gpu-operator").size(), 1U);
  size_t revisions = 0;
  for (const Document& each : cluster.list(resource::controller_revisions, ns)) {
    const Json* owner = controller_of(*each);
    revisions += owner != nullptr && text_at(*owner, "name") == driver_daemon_set_name ? 1 : 0;
  }
  EXPECT_EQ(revisions, 2U);
  // To its kubelet each is work: the machine's driver is the driver's alone.
  for (const std::string& node : cluster.kubelets().node_names()) {
    EXPECT_EQ(cluster.kubelets().machine(node).version(), old_version);
    EXPECT_EQ(cluster.pods_of(driver_daemon_set_name, node).size(), 1U);
  }
}

}  // namespace
}  // namespace lockstep::sim::tenants_test
