// The same scenario on the embedded API server, with the fleet's own controllers, and on a real
// control plane: both end in the same state, object by object and field by field. What differs is a
// fault of ours, or is listed in docs/API-SERVER.md.
#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "object_facts.h"
#include "real_cluster.h"
#include "server_run.h"

namespace lockstep::real::same_end_test {
namespace {

constexpr double speed = 40;

// What docs/API-SERVER.md says of both ("Differences at the end of an
// upgrade").
constexpr std::string_view admission = "admission plugins that the embedded server does not have";
constexpr std::string_view controllers = "what a real cluster's other controllers write";
constexpr std::string_view emptiness =
    "what Go writes though it is empty, or leaves out when it is";
constexpr std::string_view chance = "differs between any two runs";
const std::vector<KnownDifference> known = {
    // A client that is back within the second in which its driver became ready is restarted once
    // more: times have whole seconds, and forty times the speed.
    {"ResourceSlice ", "metadata.generation", chance},
    {"ResourceSlice ", "spec.pool.generation", chance},
    {"Pod ml-training/", "spec.nodeName", chance},
    {"Pod ml-training/", "status.hostIP", chance},
    {"Pod ml-training/", "metadata.labels.topology.kubernetes.io/", chance},
    {"ConfigMap lockstep-system/lockstep-slots", "data.", chance},
    {"ConfigMap lockstep-system/lockstep-slots", "metadata.annotations.lockstep.dev/nodes-seen",
     chance},
    // Written when an eviction was refused or the controller was away for a moment.
    {"ConfigMap lockstep-system/lockstep-notes", "", chance},
    // A node is drained when the work happens to be on it.
    {"Event *to drain-required", "", chance},
    {"Event ", "metadata.name", chance},
    {"Event ", "count", chance},
    {"Event ", "eventTime", emptiness},
    {"Pod ", "spec.serviceAccount", admission},
    {"Pod ", "spec.volumes[kube-api-access]", admission},
    {"Pod ", "spec.containers[*].volumeMounts[kube-api-access]", admission},
    {"Pod ", "spec.initContainers[*].volumeMounts[kube-api-access]", admission},
    {"Pod ", "spec.priority", admission},
    {"Pod ", "spec.preemptionPolicy", admission},
    {"Pod ", "spec.tolerations[node.kubernetes.io/", admission},
    {"Pod ", "metadata.labels.topology.kubernetes.io/", admission},
    {"Pod ", "spec.affinity.nodeAffinity", controllers},
    {"Pod ", "metadata.generateName", controllers},
    {"ResourceClaim ", "status.allocation.nodeSelector", chance},
    {"ResourceClaim ", "status.allocation.devices.results[*].pool", chance},
    {"ResourceClaim ", "status.allocation.devices.results[*].device", chance},
    {"ResourceClaim ", "status.allocation.allocationTimestamp", controllers},
    {"ResourceClaim ", "metadata.ownerReferences[*].blockOwnerDeletion", controllers},
    {"ResourceClaim ", "metadata.generateName", controllers},
    {"ResourceClaim ", "metadata.finalizers", controllers},
    {"Node ", "spec.taints[node.kubernetes.io/unschedulable]", controllers},
    {"Node ", "metadata.labels.beta.kubernetes.io/", controllers},
    {"Node ", "metadata.annotations.node.alpha.kubernetes.io/ttl", controllers},
    {"DaemonSet ", "metadata.annotations.deprecated.daemonset.template.generation", controllers},
    {"ControllerRevision ", "metadata.annotations.", controllers},
    {"Deployment ", "status.conditions", controllers},
    {"Deployment ", "status.terminatingReplicas", controllers},
    {"Deployment ", "metadata.annotations.deployment.kubernetes.io/", controllers},
    {"ReplicaSet ", "status.terminatingReplicas", controllers},
    {"ReplicaSet ", "metadata.annotations.deployment.kubernetes.io/", controllers},
    {"Pod ", "status.conditions[*].lastProbeTime", emptiness},
    {"Node ", "status.conditions[*].message", emptiness},
    {"Node ", "status.daemonEndpoints", emptiness},
    {"DaemonSet ", "status.numberUnavailable", emptiness},
    {"Deployment ", "status.unavailableReplicas", emptiness},
    {"ResourceClaimTemplate ", "spec.metadata", emptiness},
    {"CustomResourceDefinition ", "spec.names.shortNames", emptiness},
    {"CustomResourceDefinition ", "status.acceptedNames.shortNames", emptiness},
};

// How far the first nodes had come when the version was set back, and which ones they were, is
// never the same twice; where they all are in the end is.
const std::vector<KnownDifference> known_of_rollback = {
    {"Event ", "", chance},
    {"Pod gpu-operator/DaemonSet nvidia-driver-daemonset on ",
     "metadata.labels.pod-template-generation", chance},
};

std::vector<KnownDifference> known_of(const std::string& scenario) {
  std::vector<KnownDifference> all = known;
  if (scenario == "anywhere-rollback") {
    all.insert(all.end(), known_of_rollback.begin(), known_of_rollback.end());
  }
  return all;
}

sim::Scenario scenario_of(const std::string& name) {
  const std::string path = std::string(LOCKSTEP_SCENARIOS) + "/" + name + ".yaml";
  auto text = SystemFiles().read(path);
  if (!text) throw std::runtime_error(text.error().text());
  auto scenario = sim::read_scenario(*text, path);
  if (!scenario) throw std::runtime_error(scenario.error().text());
  return *scenario;
}

struct RealSameEnd : ::testing::TestWithParam<std::string> {};

TEST_P(RealSameEnd, OnBothServers) {
  if (std::string why = ControlPlane::missing(); !why.empty()) GTEST_SKIP() << why;
  const sim::Scenario scenario = scenario_of(GetParam());
  commands::Cluster embedded;
  embedded.serve();
  RealCluster real;
  ServerRun here(scenario, embedded, Server::embedded, speed);
  ServerRun there(scenario, real, Server::real, speed,
                  {"--kubeconfig", real.plane.kubeconfig(controller_user)});
  const Duration limit = real.loop().uptime() + minutes(5);
  // Each has a loop of its own: by turns.
  while (!here.finished() || !there.finished()) {
    ASSERT_LT(real.loop().uptime(), limit)
        << "the embedded one " << here.doing() << ", the real one " << there.doing();
    for (EventLoop* loop : {&embedded.loop(), &real.loop()}) {
      loop->run_until([] { return false; }, milliseconds(20));
    }
    here.tick();
    there.tick();
  }
  EXPECT_EQ(here.disappointments(), std::vector<std::string>{});
  EXPECT_EQ(there.disappointments(), std::vector<std::string>{});
  EXPECT_EQ(here.truth(), there.truth());
  for (const std::string& line :
       differences(facts_of(here.objects()), facts_of(there.objects()), known_of(GetParam()))) {
    ADD_FAILURE() << line;
  }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, RealSameEnd,
                         ::testing::Values("anywhere-upgrade", "anywhere-evictions",
                                           "anywhere-claims", "anywhere-restart-only",
                                           "anywhere-failure", "anywhere-rollback", "admin-cordon",
                                           "drain"),
                         [](const auto& scenario) {
                           std::string name = scenario.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace lockstep::real::same_end_test
