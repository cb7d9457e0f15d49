#include "doctor/fleet_checks.h"

#include "doctor/doctor_test_util.h"

namespace lockstep::doctor::fleet_checks_test {
namespace {

TEST(Rivals, NvidiasControllerAndASecondOfOurs) {
  ClusterView view = healthy();
  expect_fine(check_conflicting_controllers(view));
  view.leases.push_back(make_lease("other", test_time - seconds(1)));
  view.installed_in = {"other"};
  expect_wrong(check_conflicting_controllers(view), "1 controller of Lockstep in other",
               "lockstep uninstall -n other");
  view.leases.back().renewed = test_time - minutes(5);
  expect_fine(check_conflicting_controllers(view));
  view.conflicting_controller =
      fleet::Reason{fleet::Reason::conflicting_controller, "NVIDIA's GPU Operator runs",
                    "set autoUpgrade to false"};
  expect_wrong(check_conflicting_controllers(view), "NVIDIA's GPU Operator", "autoUpgrade");
}

// Any user may make a Lease in a namespace of their own.
TEST(Rivals, ALeaseWithoutAControllersRightsIsNoController) {
  ClusterView view = healthy();
  view.leases.push_back(make_lease("team-a", test_time - seconds(1)));
  const Check check = check_conflicting_controllers(view);
  EXPECT_EQ(check.verdict, Verdict::warning);
  EXPECT_NE(evidence_of(check).find("team-a/lockstep-controller"), std::string::npos);
  EXPECT_EQ(check.fix.find("uninstall"), std::string::npos) << check.fix;
  view.leases.erase(view.leases.begin());
  EXPECT_EQ(check_controller(view).verdict, Verdict::warning) << "no controller leads";
}

TEST(Controller, IsMissedWhereNodesWaitForIt) {
  ClusterView view = healthy();
  expect_fine(check_controller(view));
  view.leases.clear();
  EXPECT_EQ(check_controller(view).verdict, Verdict::warning);
  add_node(view, make_node("gpu-3", "cordon-required"));
  expect_wrong(check_controller(view), "1 node waits", "lockstep install");
  view.leases = {make_lease("lockstep-system", test_time - minutes(2))};
  expect_wrong(check_controller(view), "no controller is the leader",
               "kubectl -n lockstep-system get pods");
}

TEST(Cordons, OursWithoutAnUpgradeAreOrphans) {
  ClusterView view = healthy();
  expect_fine(check_cordons(view));
  auto node = make_node("gpu-3", "upgrade-done");
  node->unschedulable = true;
  node->meta.annotations.set(Text(fleet::cordon_annotation), Text(fleet::our_cordon));
  add_node(view, node);
  expect_wrong(check_cordons(view), "gpu-3", "kubectl uncordon gpu-3");
}

TEST(Cordons, OfAnUpgradeUnderWayOrFailedAreItsOwn) {
  for (const char* state : {"drain-required", "upgrade-failed", "upgrade-required"}) {
    ClusterView view = healthy();
    auto node = make_node("gpu-3", state);
    node->unschedulable = true;
    node->meta.annotations.set(Text(fleet::cordon_annotation), Text(fleet::our_cordon));
    add_node(view, node);
    expect_fine(check_cordons(view));
  }
}

TEST(Cordons, OfAPersonAreOnlyWarnedOf) {
  ClusterView view = healthy();
  auto node = make_node("gpu-3", "upgrade-done");
  node->unschedulable = true;
  add_node(view, node);
  Check check = check_cordons(view);
  EXPECT_EQ(check.verdict, Verdict::warning);
  EXPECT_EQ(check.fix, "kubectl uncordon gpu-3");
}

TEST(Labels, ThatAreNoStateOrBelongToNoDriver) {
  ClusterView view = healthy();
  expect_fine(check_labels(view));
  view.all_nodes.push_back(make_node("cpu-1", "upgrade-done"));
  expect_wrong(check_labels(view), "cpu-1", "kubectl label node cpu-1");
  view = healthy();
  add_node(view, make_node("gpu-3", "nonsense"));
  expect_wrong(check_labels(view), "is not a valid state", "kubectl label node gpu-3");
}

TEST(Labels, OfTheOtherDomainInTheMiddleOfAnUpgrade) {
  ClusterView view = healthy();
  auto node = make_node("gpu-3", "upgrade-done");
  node->meta.labels.set(Text("lockstep.dev/gpu-driver-upgrade-state"), Text("upgrade-done"));
  add_node(view, node);
  expect_fine(check_labels(view));
  node->meta.labels.set(Text("lockstep.dev/gpu-driver-upgrade-state"), Text("drain-required"));
  expect_wrong(check_labels(view), "another controller",
               "kubectl label node gpu-3 lockstep.dev/gpu-driver-upgrade-state-");
}

TEST(Plugins, OlderThanTheirDriverAreStale) {
  ClusterView view = healthy();
  expect_fine(check_plugins(view));
  view.nodes[0].clients[0].pod = make_pod("old-plugin", test_time - hours(2));
  expect_wrong(check_plugins(view), "old-plugin has the previous driver open",
               "kubectl -n gpu-operator delete pod old-plugin");
}

// A container of the very second in which the driver became ready may have opened the one before.
TEST(Plugins, ThatTheControllerWouldRestartAreStale) {
  ClusterView view = healthy();
  view.nodes[0].clients[0].pod = make_pod("plugin-gpu-1", test_time - hours(1));
  expect_fine(check_plugins(view));
  view.nodes[0].slice_versions.clear();
  expect_wrong(check_plugins(view), "plugin-gpu-1 has the previous driver open",
               "kubectl -n gpu-operator delete pod plugin-gpu-1");
  view.nodes[0].known.renewed = {Text("uid-plugin-gpu-1")};
  expect_fine(check_plugins(view));
  view.nodes[0].clients[0].pod = make_pod("plugin-gpu-1", test_time - hours(1) - seconds(1));
  expect_wrong(check_plugins(view), "plugin-gpu-1 has the previous driver open",
               "kubectl -n gpu-operator delete pod plugin-gpu-1");
}

TEST(Plugins, OfANodeUnderWayAreTheUpgradesBusiness) {
  ClusterView view = healthy();
  add_node(view, make_node("gpu-3", "validation-required"));
  view.nodes.back().clients[0].pod = make_pod("old-plugin", test_time - hours(2));
  expect_fine(check_plugins(view));
}

TEST(Plugins, SlicesOfAnotherVersion) {
  ClusterView view = healthy();
  view.nodes[1].slice_versions = {"570.1.2"};
  expect_wrong(check_plugins(view), "ResourceSlices show 570.1.2", "lockstep reroll");
}

TEST(Plugins, ThatPublishGpusAndAreNotKnownAreNamed) {
  ClusterView view = healthy();
  expect_fine(check_unknown_plugins(view));
  view.unknown_plugins.push_back({"gpu.nvidia.com", {"gpu-1", "gpu-2"}, {}});
  expect_wrong(check_unknown_plugins(view), "gpu.nvidia.com", "kubectl get daemonsets -A");
  view.unknown_plugins.back().perhaps = {"elsewhere/dra-driver-nvidia-gpu-kubelet-plugin"};
  expect_wrong(check_unknown_plugins(view), "perhaps by elsewhere/dra-driver-nvidia-gpu",
               "clientDaemonSets=[\"elsewhere/dra-driver-nvidia-gpu-kubelet-plugin\"]");
}

std::shared_ptr<ResourceClaim> make_claim(std::string_view name) {
  auto claim = std::make_shared<ResourceClaim>();
  claim->meta.ns = "ml";
  claim->meta.name = Text(name);
  claim->meta.created = test_time - hours(3);
  return claim;
}

TEST(Claims, ThatAreDeletedAndStay) {
  ClusterView view = healthy();
  auto claim = make_claim("held");
  claim->meta.deleted = test_time - minutes(2);
  claim->meta.finalizers = {"resource.kubernetes.io/delete-protection"};
  view.claims = {claim};
  expect_fine(check_claims(view));
  claim->meta.deleted = test_time - hours(1);
  expect_wrong(check_claims(view), "blocked by resource.kubernetes.io/delete-protection",
               "kubectl -n ml describe resourceclaim held");
  view.claim_patience = hours(2);
  expect_fine(check_claims(view));
}

TEST(Claims, ThatArePromisedToPodsWhichAreGone) {
  ClusterView view = healthy();
  auto claim = make_claim("left");
  claim->reserved_for = {{"", "pods", "trainer", "uid-trainer"}};
  view.claims = {claim};
  view.pod_uids = {"uid-trainer"};
  expect_fine(check_claims(view));
  view.pod_uids.clear();
  expect_wrong(check_claims(view), "reserved for pod trainer, which no longer exists",
               "reservedFor");
  // The pods were listed before the claims: its pod may only just have come.
  claim->meta.created = test_time - seconds(30);
  expect_fine(check_claims(view));
}

TEST(Versions, ThatTheMatrixDoesNotName) {
  ClusterView view = healthy();
  expect_fine(check_versions(view));
  rollout::Matrix matrix;
  matrix.current = {{"driver", "580.126.20"}};
  view.matrix = matrix;
  expect_fine(check_versions(view));
  matrix.current = {{"driver", "570.86.15"}};
  view.matrix = matrix;
  expect_wrong(check_versions(view), "the matrix says 570.86.15", "lockstep why gpu-1");
  matrix.canary = {{"driver", "580.126.20"}};
  view.matrix = matrix;
  expect_fine(check_versions(view));
}

TEST(Versions, ThatNoNodeTellsAreNotTakenForGood) {
  ClusterView view = healthy();
  view.nodes.clear();
  EXPECT_EQ(check_versions(view).verdict, Verdict::skipped);
}

TEST(Versions, ThatBreakARuleOfTheirGpus) {
  ClusterView view = healthy();
  auto rules = rollout::read_compatibility(R"(
sources: {notes: "https://example.com"}
cudaToolkits: [{cuda: "12.8", driver: "570.26", source: notes}]
cudaMajors: [{cuda: "12", driver: "525.60.13", source: notes}]
operators:
  - {operator: "25.3", kubernetes: {from: "1.29", to: "1.34"}, openshift: {from: "4.12", to: "4.19"}, source: notes}
drivers:
  - {name: h100-floor, models: [H100], atLeast: "590.0", reason: "too old", source: notes}
)",
                                           "rules.yaml");
  ASSERT_TRUE(rules.has_value()) << rules.error().text();
  view.compatibility = *rules;
  Check check = check_versions(view);
  EXPECT_EQ(check.verdict, Verdict::wrong) << check.text;
}

}  // namespace
}  // namespace lockstep::doctor::fleet_checks_test
