#include "upgrade/policy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fleet/reason_test_util.h"
#include "upgrade/deciding.h"

namespace lockstep::upgrade::policy_test {
namespace {

Policy read(std::string_view text) {
  auto json = parse_json(text);
  EXPECT_TRUE(json.has_value()) << text;
  return read_policy(&*json, "ClusterPolicy test");
}

Json json_of(std::string_view text) { return *parse_json(text); }

TEST(Policy, DefaultsAreThoseOfTheSpecification) {
  for (const Policy& policy : {read_policy(nullptr, "x"), read("{}"), read("null")}) {
    EXPECT_TRUE(policy.auto_upgrade);
    EXPECT_EQ(policy.max_parallel, 1);
    EXPECT_EQ(policy.max_unavailable, IntOrPercent::percentage(25));
    EXPECT_EQ(policy.max_failures, IntOrPercent::percentage(10));
    EXPECT_EQ(policy.cordoned_nodes, CordonedNodes::wait);
    EXPECT_TRUE(policy.wait.pods.matches_nothing());
    EXPECT_EQ(policy.wait.timeout, Duration::zero());
    EXPECT_FALSE(policy.pod_deletion.force);
    EXPECT_FALSE(policy.pod_deletion.delete_empty_dir);
    EXPECT_EQ(policy.pod_deletion.timeout, seconds(300));
    EXPECT_TRUE(policy.pod_deletion.pods.matches_nothing());
    EXPECT_FALSE(policy.drain.enable);
    EXPECT_FALSE(policy.drain.eviction.force);
    EXPECT_FALSE(policy.drain.eviction.delete_empty_dir);
    EXPECT_EQ(policy.drain.eviction.timeout, seconds(300));
    EXPECT_TRUE(policy.drain.eviction.pods.empty()) << "a drain is of all pods";
    EXPECT_EQ(policy.deadlines.restart, minutes(30));
    EXPECT_EQ(policy.deadlines.image_pull, minutes(5));
    EXPECT_EQ(policy.deadlines.validation, seconds(600));
    EXPECT_EQ(policy.deadlines.restarts, 10);
    EXPECT_FALSE(policy.paused.has_value());
    EXPECT_TRUE(policy.problems.empty());
    EXPECT_TRUE(policy.warnings.empty());
  }
}

TEST(Policy, EveryFieldIsRead) {
  Policy policy = read(R"({"autoUpgrade":false,"maxParallelUpgrades":0,"maxUnavailable":"50%",
    "maxFailures":3,"cordonedNodes":"upgrade",
    "waitForCompletion":{"timeoutSeconds":60,"podSelector":"app=job"},
    "podDeletion":{"force":true,"timeoutSeconds":10,"deleteEmptyDir":true,"podSelector":"gpu"},
    "drain":{"enable":true,"force":true,"timeoutSeconds":0,"deleteEmptyDir":true,
      "podSelector":"app=web"},
    "deadlines":{"restartSeconds":1,"imagePullSeconds":2,"validationSeconds":3,
      "containerRestarts":4}})");
  EXPECT_TRUE(policy.problems.empty());
  EXPECT_TRUE(policy.warnings.empty());
  EXPECT_FALSE(policy.auto_upgrade);
  EXPECT_EQ(policy.max_parallel, 0);
  EXPECT_EQ(policy.max_unavailable, IntOrPercent::percentage(50));
  EXPECT_EQ(policy.max_failures, IntOrPercent::count(3));
  EXPECT_EQ(policy.cordoned_nodes, CordonedNodes::upgrade);
  EXPECT_EQ(policy.wait.timeout, seconds(60));
  EXPECT_EQ(policy.wait.pods.text(), "app=job");
  EXPECT_TRUE(policy.pod_deletion.force);
  EXPECT_TRUE(policy.pod_deletion.delete_empty_dir);
  EXPECT_EQ(policy.pod_deletion.timeout, seconds(10));
  EXPECT_EQ(policy.pod_deletion.pods.text(), "gpu");
  EXPECT_TRUE(policy.drain.enable);
  EXPECT_TRUE(policy.drain.eviction.force);
  EXPECT_TRUE(policy.drain.eviction.delete_empty_dir);
  EXPECT_EQ(policy.drain.eviction.timeout, Duration::zero());
  EXPECT_EQ(policy.drain.eviction.pods.text(), "app=web");
  EXPECT_EQ(policy.deadlines.restart, seconds(1));
  EXPECT_EQ(policy.deadlines.image_pull, seconds(2));
  EXPECT_EQ(policy.deadlines.validation, seconds(3));
  EXPECT_EQ(policy.deadlines.restarts, 4);
  EXPECT_EQ(read(R"({"cordonedNodes":"ignore"})").cordoned_nodes, CordonedNodes::ignore);
  EXPECT_EQ(read(R"({"cordonedNodes":"wait"})").cordoned_nodes, CordonedNodes::wait);
}

TEST(Policy, PodDeletionHasTheAliasThatTheSeedUses) {
  EXPECT_TRUE(read(R"({"gpuPodDeletion":{"force":true}})").pod_deletion.force);
  EXPECT_TRUE(read(R"({"podDeletion":null,"gpuPodDeletion":{"force":true}})").pod_deletion.force);
}

TEST(Policy, AnEmptyWaitSelectorWaitsForNobodyAndAnEmptyDrainSelectorDrainsAll) {
  Policy policy = read(R"({"waitForCompletion":{"podSelector":" "},"podDeletion":{"podSelector":""},
    "drain":{"podSelector":""}})");
  EXPECT_TRUE(policy.wait.pods.matches_nothing());
  EXPECT_TRUE(policy.pod_deletion.pods.matches_nothing());
  EXPECT_TRUE(policy.drain.eviction.pods.empty());
}

TEST(Policy, AValueThatIsNeitherNumberNorPercentIsAProblemNamedByItsPath) {
  for (std::string_view text : {R"({"maxUnavailable":"a lot"})", R"({"maxUnavailable":-1})",
                                R"({"maxUnavailable":"5"})", R"({"maxUnavailable":true})",
                                R"({"maxUnavailable":2.5})", R"({"maxUnavailable":"101%"})"}) {
    Policy policy = read(text);
    ASSERT_EQ(policy.problems.size(), 1U) << text;
    EXPECT_TRUE(policy.problems[0].starts_with("upgradePolicy.maxUnavailable: must be ")) << text;
    EXPECT_EQ(policy.max_unavailable, IntOrPercent::percentage(25)) << "the default";
  }
}

TEST(Policy, EveryWrongTypeIsAProblemAndNothingElseIsLost) {
  for (std::string_view text :
       {R"({"autoUpgrade":"yes"})", R"({"maxParallelUpgrades":"2"})",
        R"({"maxParallelUpgrades":-1})", R"({"cordonedNodes":"maybe"})", R"({"cordonedNodes":7})",
        R"({"drain":true})", R"({"podDeletion":{"timeoutSeconds":-5}})",
        R"({"podDeletion":{"timeoutSeconds":1.5}})",
        R"({"podDeletion":{"timeoutSeconds":9223372036854775807}})",
        R"({"waitForCompletion":{"podSelector":["a"]}})",
        R"({"waitForCompletion":{"podSelector":"a in ("}})",
        R"({"deadlines":{"containerRestarts":"ten"}})"}) {
    std::string both = std::string(text.substr(0, text.size() - 1)) + R"(,"maxFailures":7})";
    Policy policy = read(both);
    EXPECT_EQ(policy.problems.size(), 1U) << text;
    EXPECT_EQ(policy.max_failures, IntOrPercent::count(7)) << text;
  }
  EXPECT_EQ(read(R"([])").problems.size(), 1U);
}

// What is in flight goes on, but must not drain more than was meant.
TEST(Policy, AnUnreadableDrainSelectorDrainsNobody) {
  for (std::string_view text : {R"({"drain":{"enable":true,"podSelector":"app in ("}})",
                                R"({"drain":{"enable":true,"podSelector":["app=web"]}})"}) {
    Policy policy = read(text);
    EXPECT_EQ(policy.problems.size(), 1U) << text;
    EXPECT_TRUE(policy.drain.eviction.pods.matches_nothing()) << text;
  }
}

TEST(Policy, AnUnknownKeyIsAWarningThatSaysWhatWasMeant) {
  Policy policy = read(R"({"maxUnavailabel":1,"drain":{"zzzzzz":1}})");
  EXPECT_TRUE(policy.problems.empty());
  ASSERT_EQ(policy.warnings.size(), 2U);
  EXPECT_TRUE(policy.warnings[0].starts_with("upgradePolicy.drain.zzzzzz: unknown field"));
  EXPECT_EQ(policy.warnings[1],
            "upgradePolicy.maxUnavailabel: unknown field; did you mean \"maxUnavailable\"?");
}

TEST(Policy, WithoutAnybodyWhoAsksNothingIsDone) {
  EXPECT_FALSE(Policy::none().auto_upgrade);
  EXPECT_TRUE(Policy::none().source.empty());
}

TEST(Policy, OfAClusterPolicyIsUnderItsDriver) {
  Policy policy = policy_of_cluster_policy(json_of(R"({"metadata":{"name":"cluster-policy"},
    "spec":{"driver":{"upgradePolicy":{"maxParallelUpgrades":9}}}})"));
  EXPECT_EQ(policy.source, "ClusterPolicy cluster-policy");
  EXPECT_EQ(policy.max_parallel, 9);
  EXPECT_FALSE(policy.paused.has_value());
}

TEST(Policy, OfANvidiaDriverIsItsOwnElseTheClusterPolicys) {
  Policy fallback = policy_of_cluster_policy(json_of(R"({"metadata":{"name":"c"},
    "spec":{"driver":{"upgradePolicy":{"maxParallelUpgrades":9}}}})"));
  Policy own = policy_of_nvidia_driver(
      json_of(R"({"metadata":{"name":"d"},"spec":{"upgradePolicy":{"maxParallelUpgrades":2}}})"),
      fallback);
  EXPECT_EQ(own.max_parallel, 2);
  EXPECT_EQ(own.source, "NVIDIADriver d");
  for (std::string_view text : {R"({"metadata":{"name":"d"},"spec":{}})",
                                R"({"metadata":{"name":"d"},"spec":{"upgradePolicy":null}})"}) {
    Policy taken = policy_of_nvidia_driver(json_of(text), fallback);
    EXPECT_EQ(taken.max_parallel, 9) << text;
    EXPECT_EQ(taken.source, "ClusterPolicy c") << text;
    EXPECT_EQ(policy_of_nvidia_driver(json_of(text), Policy::none()).max_parallel, 1) << text;
  }
}

TEST(Policy, AnAnnotationPausesAndSaysWhy) {
  Json object = json_of(R"({"metadata":{"name":"c","annotations":{
    "lockstep.dev/paused":"ann: looking at gpu-7"}},"spec":{}})");
  EXPECT_EQ(policy_of_cluster_policy(object).paused, "ann: looking at gpu-7");
  EXPECT_EQ(policy_of_nvidia_driver(object, Policy::none()).paused, "ann: looking at gpu-7");
}

TEST(Policy, OutsideNvidiasKeyDomainTheSwitchIsOurOwn) {
  Json object = json_of(R"({"metadata":{"name":"c","annotations":{}},
    "spec":{"driver":{"upgradePolicy":{"autoUpgrade":false}}}})");
  EXPECT_FALSE(policy_of_cluster_policy(object).auto_upgrade);
  EXPECT_TRUE(policy_of_cluster_policy(object, true).auto_upgrade);
  EXPECT_FALSE(policy_of_cluster_policy(object, true).nvidia_auto_upgrade);
  find(object, "metadata", "annotations")->get_object()["lockstep.dev/auto-upgrade"] = "false";
  EXPECT_FALSE(policy_of_cluster_policy(object, true).auto_upgrade);
}

Policy of_cluster_policy(std::string_view spec, std::string_view annotations = "{}",
                         bool own_switch = false) {
  return policy_of_cluster_policy(
      json_of(fmt::format(R"({{"metadata":{{"name":"c","annotations":{}}},"spec":{}}})",
                          annotations, spec)),
      own_switch);
}

std::string says(const Policy& policy) {
  EXPECT_FALSE(policy.auto_upgrade);
  Reason reason = auto_upgrade_off(policy);
  EXPECT_EQ(reason.name, "AutoUpgradeOff");
  return reason.text;
}

TEST(NoUpgradePolicy, IsNotUpgradedAndNamesTheField) {
  for (bool own_switch : {false, true}) {
    for (std::string_view spec :
         {R"({})", R"({"driver":{}})", R"({"driver":{"upgradePolicy":null}})"}) {
      Policy policy = of_cluster_policy(spec, "{}", own_switch);
      EXPECT_EQ(says(policy), "ClusterPolicy c has no spec.driver.upgradePolicy: nothing changes");
      EXPECT_FALSE(policy.nvidia_auto_upgrade);
      EXPECT_FALSE(policy_of_nvidia_driver(json_of(R"({"metadata":{"name":"d"},"spec":{}})"),
                                           policy, own_switch)
                       .auto_upgrade);
    }
    EXPECT_TRUE(
        of_cluster_policy(R"({"driver":{"upgradePolicy":{}}})", "{}", own_switch).auto_upgrade);
  }
  Json driver = json_of(R"({"metadata":{"name":"d"},"spec":{}})");
  EXPECT_NE(says(policy_of_nvidia_driver(driver, Policy::none())).find("no spec.upgradePolicy"),
            std::string::npos);
}

TEST(SandboxWorkloads, AreNotUpgradedUnlessTheDefaultIsAContainer) {
  constexpr std::string_view with =
      R"({{"driver":{{"upgradePolicy":{{}}}},"sandboxWorkloads":{}}})";
  for (std::string_view workloads :
       {R"({"enabled":false,"defaultWorkload":"vm-passthrough"})", R"({"enabled":true})",
        R"({"enabled":true,"defaultWorkload":"container"})"}) {
    EXPECT_TRUE(of_cluster_policy(fmt::format(fmt::runtime(with), workloads)).auto_upgrade)
        << workloads;
  }
  Policy policy = of_cluster_policy(
      fmt::format(fmt::runtime(with), R"({"enabled":true,"defaultWorkload":"vm-vgpu"})"));
  EXPECT_NE(says(policy).find("sandboxWorkloads"), std::string::npos);
  Json driver = json_of(R"({"metadata":{"name":"d"},"spec":{"upgradePolicy":{}}})");
  EXPECT_NE(says(policy_of_nvidia_driver(driver, policy)).find("vm-vgpu"), std::string::npos);
}

TEST(PrunedPolicy, IsReadFromTheAnnotation) {
  Policy policy = of_cluster_policy(
      R"({"driver":{"upgradePolicy":{"maxParallelUpgrades":3,"maxFailures":1}}})",
      R"({"lockstep.dev/upgrade-policy":"maxFailures: 50%\ndeadlines: {imagePullSeconds: 60}\n"})");
  EXPECT_TRUE(policy.problems.empty());
  EXPECT_EQ(policy.max_parallel, 3);
  EXPECT_EQ(policy.max_failures, IntOrPercent::percentage(50)) << "it goes over the object";
  EXPECT_EQ(policy.deadlines.image_pull, seconds(60));
  Policy own = policy_of_nvidia_driver(json_of(R"({"metadata":{"name":"d","annotations":{
        "lockstep.dev/upgrade-policy":"cordonedNodes: ignore"}},"spec":{"upgradePolicy":{}}})"),
                                       policy);
  EXPECT_EQ(own.cordoned_nodes, CordonedNodes::ignore);
}

TEST(PrunedPolicy, WhatTheAnnotationSaysWrongIsAProblem) {
  for (std::string_view text : {"maxFailures: many", "[1, 2]", "a: [", "just words"}) {
    Policy policy =
        of_cluster_policy(R"({"driver":{"upgradePolicy":{}}})",
                          print_json(JsonObject{{"lockstep.dev/upgrade-policy", text}}));
    ASSERT_EQ(policy.problems.size(), 1U) << text;
    EXPECT_NE(policy.problems[0].find("lockstep.dev/upgrade-policy"), std::string::npos)
        << policy.problems[0];
  }
}

TEST(PrunedPolicy, ADriverRolloutsPolicyGoesOverBoth) {
  Json over = json_of(R"({"maxFailures":7})");
  Json object = json_of(R"({"metadata":{"name":"c","annotations":{
    "lockstep.dev/upgrade-policy":"maxFailures: 5"}},"spec":{"driver":{"upgradePolicy":{}}}})");
  EXPECT_EQ(policy_of_cluster_policy(object, false, &over).max_failures, IntOrPercent::count(7));
  EXPECT_EQ(policy_of_cluster_policy(object).max_failures, IntOrPercent::count(5));
}

TEST(PrunedPolicy, OnlyAnExplicitAutoUpgradeAsksWhereTheObjectDoesNot) {
  EXPECT_FALSE(
      of_cluster_policy("{}", R"({"lockstep.dev/upgrade-policy":"maxFailures: 5"})").auto_upgrade);
  Policy asked = of_cluster_policy("{}", R"({"lockstep.dev/upgrade-policy":"autoUpgrade: true"})");
  EXPECT_TRUE(asked.auto_upgrade);
  EXPECT_FALSE(asked.nvidia_auto_upgrade) << "NVIDIA's controller does not read it";
}

TEST(PrunedPolicy, FieldsThatAManifestSetsAndTheObjectLacksAreNamed) {
  auto pruned = [](std::string_view held, std::string_view applied) {
    Json object = json_of(fmt::format(R"({{"spec":{{"driver":{{"upgradePolicy":{}}}}}}})", held));
    std::string manifest =
        fmt::format(R"({{"spec":{{"driver":{{"upgradePolicy":{}}}}}}})", applied);
    object.as_object()["metadata"] =
        JsonObject{{"annotations",
                    JsonObject{{"kubectl.kubernetes.io/last-applied-configuration", manifest}}}};
    return pruned_fields(object);
  };
  using Fields = std::vector<std::string>;
  EXPECT_EQ(pruned(R"({"maxUnavailable":1,"podDeletion":{}})",
                   R"({"maxUnavailable":1,"maxFailures":2,"podDeletion":{"podSelector":"a=b"}})"),
            (Fields{"maxFailures", "podDeletion.podSelector"}));
  EXPECT_EQ(pruned("{}", "{}"), Fields{});
  EXPECT_EQ(pruned("null", R"({"deadlines":{"imagePullSeconds":1}})"), Fields{"deadlines"});
  EXPECT_EQ(pruned_fields(json_of("{}")), Fields{});
}

}  // namespace
}  // namespace lockstep::upgrade::policy_test
