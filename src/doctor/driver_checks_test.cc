#include "doctor/driver_checks.h"

#include "doctor/doctor_test_util.h"

namespace lockstep::doctor::driver_checks_test {
namespace {

ClusterView with_set(const DaemonSet& set) {
  ClusterView view = healthy();
  for (auto& node : view.nodes) node.driver.set = std::make_shared<const DaemonSet>(set);
  return view;
}

DaemonSet driver_set(std::string_view strategy = "OnDelete", std::string_view eviction = "false") {
  DaemonSet set;
  set.meta.ns = "gpu-operator";
  set.meta.name = "nvidia-driver-daemonset";
  set.update_strategy = Text(strategy);
  Container manager;
  manager.name = "k8s-driver-manager";
  manager.image = "nvcr.io/nvidia/cloud-native/k8s-driver-manager:v0.8.1";
  if (!eviction.empty()) manager.environment = {{"ENABLE_GPU_POD_EVICTION", Text(eviction)}};
  set.pod_template.spec.init_containers = {manager};
  return set;
}

TEST(RollingUpdateDriver, IsNamedOnceWithTheCommandThatEndsIt) {
  expect_fine(check_driver_sets(with_set(driver_set())));
  Check check = check_driver_sets(with_set(driver_set("RollingUpdate")));
  EXPECT_EQ(check.verdict, Verdict::wrong);
  ASSERT_EQ(check.evidence.size(), 1U) << "of two nodes";
  EXPECT_NE(check.evidence[0].find("RollingUpdateDriver"), std::string::npos);
  EXPECT_NE(check.fix.find("patch daemonset nvidia-driver-daemonset"), std::string::npos);
}

TEST(DriverManager, OneThatUncordonsIsNamed) {
  expect_fine(check_driver_manager(with_set(driver_set())));
  for (std::string_view eviction : {"true", ""}) {
    Check check = check_driver_manager(with_set(driver_set("OnDelete", eviction)));
    EXPECT_EQ(check.verdict, Verdict::warning) << eviction;
    EXPECT_NE(check.fix.find("ENABLE_GPU_POD_EVICTION"), std::string::npos);
  }
  DaemonSet ours = driver_set("OnDelete", "true");
  ours.pod_template.spec.init_containers[0].image = "ghcr.io/lockstep-dev/lockstep:0.1.0";
  expect_fine(check_driver_manager(with_set(ours)));
}

TEST(LookalikeDriver, WhatHasTheDriversLabelsElsewhereIsNamed) {
  ClusterView view = with_set(driver_set());
  expect_fine(check_lookalikes(view));
  view.lookalikes = {{"DaemonSet", {"team-a", "nvidia-driver-daemonset"}, "the GPU driver"},
                     {"Pod", {"gpu-operator", "by-hand"}, "a validator"}};
  Check check = check_lookalikes(view);
  EXPECT_EQ(check.verdict, Verdict::warning);
  ASSERT_EQ(check.evidence.size(), 2U);
  EXPECT_EQ(check.evidence[0],
            "DaemonSet team-a/nvidia-driver-daemonset: has the labels of the GPU driver");
  EXPECT_EQ(
      check.evidence[1],
      "Pod gpu-operator/by-hand: has the labels of a validator, and no DaemonSet controls it");
  EXPECT_EQ(check.fix, "kubectl -n team-a get daemonset nvidia-driver-daemonset -o yaml");
}

TEST(LookalikeDriver, IsPerhapsTheDriverWhereNoOtherIsThere) {
  ClusterView view = healthy();
  view.lookalikes = {{"DaemonSet", {"nvidia-gpu-operator", "driver"}, "the GPU driver"}};
  expect_wrong(check_lookalikes(view), "no node is upgraded",
               "lockstep install --driver-namespaces nvidia-gpu-operator");
  view.lookalikes = {{"Pod", {"team-a", "driver"}, "the GPU driver"}};
  EXPECT_EQ(check_lookalikes(view).verdict, Verdict::warning) << "a pod brings no driver";
}

ClusterView with_policy(const Json& object) {
  ClusterView view = healthy();
  view.policies = {{upgrade::policy_of_cluster_policy(object), "clusterpolicy/c",
                    upgrade::pruned_fields(object)}};
  return view;
}

TEST(PrunedPolicy, FieldsThatTheCrdDropsAreNamed) {
  Json object = *parse_json(R"({"metadata":{"name":"c","annotations":{}},
    "spec":{"driver":{"upgradePolicy":{"maxUnavailable":1}}}})");
  expect_fine(check_policies(with_policy(object)));
  object.at("metadata")
      .at("annotations")
      .as_object()["kubectl.kubernetes.io/last-applied-configuration"] =
      R"({"spec":{"driver":{"upgradePolicy":{"maxUnavailable":1,"maxFailures":2}}}})";
  Check check = check_policies(with_policy(object));
  EXPECT_EQ(check.verdict, Verdict::warning);
  ASSERT_EQ(check.evidence.size(), 1U);
  EXPECT_NE(check.evidence[0].find("upgradePolicy.maxFailures"), std::string::npos);
  EXPECT_NE(check.fix.find("lockstep.dev/upgrade-policy"), std::string::npos);
}

TEST(InvalidPolicy, IsNamedWithItsField) {
  Check check = check_policies(with_policy(*parse_json(R"({"metadata":{"name":"c"},
    "spec":{"driver":{"upgradePolicy":{"maxUnavailable":"some","maxUnavailabel":1}}}})")));
  EXPECT_EQ(check.verdict, Verdict::wrong);
  ASSERT_EQ(check.evidence.size(), 2U);
  EXPECT_NE(check.evidence[0].find("upgradePolicy.maxUnavailable"), std::string::npos);
  EXPECT_FALSE(check.fix.empty());
}

}  // namespace
}  // namespace lockstep::doctor::driver_checks_test
