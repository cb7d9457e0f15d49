#include "objects/daemon_set.h"

#include <gtest/gtest.h>

#include "objects/decode_test_util.h"

namespace lockstep::daemon_set_test {
namespace {

TEST(DaemonSet, KeepsSelectorTemplateStrategyAndStatus) {
  DaemonSet set = decoded<DaemonSet>(R"({"metadata":{"name":"nvidia-driver-daemonset",
      "namespace":"gpu-operator","generation":4,"labels":{"app":"nvidia-driver-daemonset"}},
    "spec":{"selector":{"matchLabels":{"app":"nvidia-driver-daemonset"}},
      "template":{"metadata":{"labels":{"app":"nvidia-driver-daemonset"},"annotations":{"a":"b"}},
        "spec":{"nodeSelector":{"nvidia.com/gpu.deploy.driver":"true"},
          "tolerations":[{"operator":"Exists","key":"nvidia.com/gpu","effect":"NoSchedule"},
            {"key":"team","operator":"Equal","value":"ml","tolerationSeconds":5}],
          "initContainers":[{"name":"i","env":[{"name":"DRIVER_CONFIG_DIGEST","value":"42"}]}],
          "containers":[{"name":"driver","image":"nvcr.io/nvidia/driver:580"}],
          "volumes":[{"name":"x","emptyDir":{}}]}},
      "updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%","maxSurge":0}}},
    "status":{"observedGeneration":4,"desiredNumberScheduled":10,"currentNumberScheduled":9,
      "numberReady":8,"numberAvailable":7,"updatedNumberScheduled":6,"numberMisscheduled":1,
      "numberUnavailable":3}})");
  EXPECT_EQ(set.selector.text(), "app=nvidia-driver-daemonset");
  EXPECT_EQ(set.pod_template.labels.get("app"), "nvidia-driver-daemonset");
  EXPECT_EQ(set.pod_template.annotations.get("a"), "b");
  EXPECT_EQ(set.pod_template.node_selector.get("nvidia.com/gpu.deploy.driver"), "true");
  EXPECT_EQ(set.pod_template.tolerations,
            (std::vector<Toleration>{{"nvidia.com/gpu", "Exists", "", "NoSchedule"},
                                     {"team", "Equal", "ml", ""}}));
  EXPECT_EQ(*set.pod_template.spec.find_environment("DRIVER_CONFIG_DIGEST"), "42");
  EXPECT_EQ(set.pod_template.spec.containers[0].image, "nvcr.io/nvidia/driver:580");
  EXPECT_TRUE(set.pod_template.spec.has_empty_dir);
  EXPECT_EQ(set.update_strategy, "RollingUpdate");
  EXPECT_EQ(set.max_unavailable, IntOrPercent::percentage(25));
  EXPECT_EQ(set.max_surge, IntOrPercent::count(0));
  EXPECT_EQ(set.observed_generation, 4);
  EXPECT_EQ(set.desired, 10);
  EXPECT_EQ(set.current, 9);
  EXPECT_EQ(set.ready, 8);
  EXPECT_EQ(set.available, 7);
  EXPECT_EQ(set.updated, 6);
  EXPECT_EQ(set.misscheduled, 1);
}

TEST(DaemonSet, WithoutASelectorMatchesNothing) {
  EXPECT_TRUE(decoded<DaemonSet>(R"({"metadata":{"name":"a"}})").selector.matches_nothing());
}

TEST(DaemonSet, BadValuesAreErrors) {
  for (std::string_view spec :
       {R"({"selector":{"matchLabels":{"-":"x"}}})", R"({"selector":[]})",
        R"({"updateStrategy":{"rollingUpdate":{"maxUnavailable":"half"}}})"}) {
    std::string error =
        decode_error<DaemonSet>(R"({"metadata":{"name":"a"},"spec":)" + std::string(spec) + "}");
    EXPECT_EQ(error.substr(0, 13), "DaemonSet a: ") << spec;
  }
}

TEST(ControllerRevision, KnowsItsHash) {
  ControllerRevision revision = decoded<ControllerRevision>(R"({"data":{"spec":{"template":{}}},
    "metadata":{"name":"driver-6f7c9d","labels":{"controller-revision-hash":"6f7c9d"},
      "ownerReferences":[{"kind":"DaemonSet","name":"driver","uid":"u","controller":true}]},
    "revision":7})");
  EXPECT_EQ(revision.revision, 7);
  EXPECT_EQ(revision.hash(), "6f7c9d");
  EXPECT_EQ(revision.meta.controller()->name, "driver");
}

TEST(ControllerRevision, KnowsItsTemplate) {
  ControllerRevision revision = decoded<ControllerRevision>(R"({"data":{"spec":{"other":1,
      "template":{"$patch":"replace","spec":{"initContainers":[
        {"name":"i","env":[{"name":"DRIVER_CONFIG_DIGEST","value":"42"}]}]}}}},
    "metadata":{"name":"driver-6f7c9d"},"revision":7})");
  ASSERT_NE(revision.pod_template.spec.find_environment("DRIVER_CONFIG_DIGEST"), nullptr);
  EXPECT_EQ(*revision.pod_template.spec.find_environment("DRIVER_CONFIG_DIGEST"), "42");
}

}  // namespace
}  // namespace lockstep::daemon_set_test
