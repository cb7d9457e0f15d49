#include "objects/pod.h"

#include <gtest/gtest.h>

#include "objects/decode_test_util.h"

namespace lockstep::pod_test {
namespace {

Pod pod_with(std::string_view rest) {
  return decoded<Pod>(R"({"metadata":{"name":"p","namespace":"n"},)" + std::string(rest) + "}");
}

TEST(Pod, KeepsWhatUpgradesLookAt) {
  Pod pod = decoded<Pod>(R"({"metadata":{"name":"driver-x","namespace":"gpu-operator",
      "ownerReferences":[{"kind":"DaemonSet","name":"driver","uid":"u","controller":true}]},
    "spec":{"nodeName":"gpu-7","runtimeClassName":"nvidia","terminationGracePeriodSeconds":60,
      "initContainers":[{"name":"prepare","image":"i:1","env":[
        {"value":"abc","name":"DRIVER_CONFIG_DIGEST"},{"name":"SECRET","value":"s"},
        {"name":"NODE","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}}]}],
      "containers":[{"name":"main","image":"i:2","resources":{
        "limits":{"nvidia.com/gpu":"2","cpu":"1"},
        "requests":{"nvidia.com/gpu":"1","rdma/hca":"1","memory":"1Gi"}}}],
      "volumes":[{"name":"a","hostPath":{"path":"/"}},{"name":"b","emptyDir":{}}]},
    "status":{"phase":"Running","reason":"r","message":"m","startTime":"2026-11-15T04:20:11Z",
      "conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-11-15T04:21:00Z"},
        {"type":"PodScheduled","status":"True"},{"type":"ContainersReady","status":"True"},
        {"type":"Initialized","status":"True"},
        {"type":"lockstep.dev/PrepareFailedPermanently","status":"False","reason":"x"}],
      "initContainerStatuses":[{"name":"prepare","ready":true,"restartCount":1,
        "state":{"terminated":{"exitCode":0,"reason":"Completed"}}}],
      "containerStatuses":[{"lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}},
        "name":"main","ready":true,"restartCount":3,
        "state":{"running":{"startedAt":"2026-11-15T04:20:30Z"}}}]}})");
  EXPECT_EQ(pod.node_name, "gpu-7");
  EXPECT_EQ(pod.spec.runtime_class, "nvidia");
  EXPECT_EQ(pod.termination_grace_seconds, 60);
  EXPECT_TRUE(pod.spec.has_empty_dir);
  ASSERT_EQ(pod.spec.init_containers.size(), 1U);
  EXPECT_EQ(pod.spec.init_containers[0].environment,
            (std::vector<EnvironmentVariable>{{"DRIVER_CONFIG_DIGEST", "abc"}}));
  ASSERT_EQ(pod.spec.containers.size(), 1U);
  EXPECT_EQ(pod.spec.containers[0].image, "i:2");
  EXPECT_EQ(pod.spec.containers[0].resources,
            (ResourceAmounts{{"nvidia.com/gpu", 2}, {"rdma/hca", 1}}));
  EXPECT_EQ(pod.phase, PodPhase::running);
  EXPECT_EQ(pod.reason, "r");
  EXPECT_EQ(pod.message, "m");
  EXPECT_TRUE(pod.started.is_set());
  EXPECT_TRUE(pod.ready);
  EXPECT_EQ(format_rfc3339(pod.ready_since), "2026-11-15T04:21:00Z");
  ASSERT_EQ(pod.conditions.size(), 1U);
  EXPECT_EQ(pod.conditions[0].type, "lockstep.dev/PrepareFailedPermanently");
  const ContainerStatus& main = pod.container_statuses.at(0);
  EXPECT_TRUE(main.running());
  EXPECT_FALSE(main.terminated);
  EXPECT_EQ(main.restarts, 3);
  EXPECT_EQ(main.exit_code, 137);
  EXPECT_EQ(main.terminated_reason, "OOMKilled");
  const ContainerStatus& prepare = pod.init_container_statuses.at(0);
  EXPECT_TRUE(prepare.terminated);
  EXPECT_FALSE(prepare.running());
  EXPECT_EQ(prepare.terminated_reason, "Completed");
  EXPECT_TRUE(pod.is_owned_by_daemon_set());
  EXPECT_FALSE(pod.is_mirror());
  EXPECT_FALSE(pod.is_finished());
}

TEST(Pod, WaitingContainersSayWhy) {
  Pod pod = pod_with(R"("status":{"containerStatuses":[{"name":"main","ready":false,
    "state":{"waiting":{"reason":"ImagePullBackOff","message":"no such image"}}}]})");
  EXPECT_EQ(pod.container_statuses[0].waiting_reason, "ImagePullBackOff");
  EXPECT_EQ(pod.container_statuses[0].waiting_message, "no such image");
  EXPECT_FALSE(pod.container_statuses[0].running());
}

TEST(Pod, CurrentTerminationGoesBeforeTheLastOne) {
  for (
      std::string_view status :
      {R"({"state":{"terminated":{"exitCode":1,"reason":"Error"}},"lastState":{"terminated":{"exitCode":2}}})",
       R"({"lastState":{"terminated":{"exitCode":2}},"state":{"terminated":{"exitCode":1,"reason":"Error"}}})"}) {
    Pod pod = pod_with(R"("status":{"containerStatuses":[)" + std::string(status) + "]}");
    EXPECT_TRUE(pod.container_statuses[0].terminated);
    EXPECT_EQ(pod.container_statuses[0].exit_code, 1);
    EXPECT_EQ(pod.container_statuses[0].terminated_reason, "Error");
  }
}

TEST(Pod, PhasesComeAndGoAsText) {
  for (std::string_view phase : {"Pending", "Running", "Succeeded", "Failed", "Unknown"}) {
    EXPECT_EQ(to_string(pod_phase(phase)), phase);
  }
  EXPECT_EQ(pod_phase("Sleeping"), PodPhase::unknown);
  EXPECT_TRUE(pod_with(R"("status":{"phase":"Succeeded"})").is_finished());
  EXPECT_TRUE(pod_with(R"("status":{"phase":"Failed"})").is_finished());
}

TEST(Pod, AnUnscheduledPodKeepsTheReason) {
  Pod pod = pod_with(R"("status":{"phase":"Pending","conditions":[
    {"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/4 nodes"}]})");
  ASSERT_EQ(pod.conditions.size(), 1U);
  EXPECT_EQ(pod.conditions[0].reason, "Unschedulable");
  EXPECT_FALSE(pod.ready);
}

TEST(Pod, MirrorPodsAreKnownByTheirAnnotation) {
  Pod pod = decoded<Pod>(
      R"({"metadata":{"name":"etcd","annotations":{"kubernetes.io/config.mirror":"abc"}}})");
  EXPECT_TRUE(pod.is_mirror());
}

TEST(Pod, EnvironmentIsFoundInInitContainersFirst) {
  Pod pod = pod_with(R"("spec":{
    "containers":[{"env":[{"name":"DRIVER_CONFIG_DIGEST","value":"main"}]}],
    "initContainers":[{"env":[{"name":"OTHER","value":"x"}]},
                      {"env":[{"name":"DRIVER_CONFIG_DIGEST","value":"init"}]}]})");
  ASSERT_NE(pod.spec.find_environment("DRIVER_CONFIG_DIGEST"), nullptr);
  EXPECT_EQ(*pod.spec.find_environment("DRIVER_CONFIG_DIGEST"), "init");
  EXPECT_EQ(pod.spec.find_environment("OTHER"), nullptr);
}

TEST(Pod, TheListOfKeptVariablesIsTheCallers) {
  DecodeContext context;
  context.keep_environment = {"OTHER"};
  auto pod = decode_object<Pod>(
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"env":[{"name":"OTHER","value":"x"}]}]}})",
      context);
  ASSERT_TRUE(pod.has_value());
  EXPECT_EQ(*pod->spec.find_environment("OTHER"), "x");
}

TEST(Pod, ClaimsAreResolved) {
  Pod pod = pod_with(R"("spec":{"resourceClaims":[
      {"name":"direct","resourceClaimName":"shared"},
      {"name":"made","resourceClaimTemplateName":"t"},
      {"name":"not-needed","resourceClaimTemplateName":"t"},
      {"name":"not-yet","resourceClaimTemplateName":"t"},
      {"name":"old","source":{"resourceClaimName":"deeper"}}]},
    "status":{"resourceClaimStatuses":[{"name":"made","resourceClaimName":"p-made-x7"},
      {"name":"not-needed","resourceClaimName":null}]})");
  PodClaims claims = claims_of(pod);
  EXPECT_EQ(claims.names, (std::vector<Text>{"shared", "p-made-x7", "deeper"}));
  EXPECT_EQ(claims.unresolved, 1);
}

TEST(Pod, TheClaimOfExtendedResourcesIsOneOfItsClaims) {
  Pod pod = pod_with(R"("spec":{"resourceClaims":[{"name":"a","resourceClaimName":"shared"}]},
    "status":{"extendedResourceClaimStatus":{"resourceClaimName":"p-extended-resources-x7",
      "requestMappings":[{"containerName":"main","resourceName":"example.com/gpu",
                          "requestName":"container-0-request-0"}]}})");
  EXPECT_EQ(claims_of(pod).names, (std::vector<Text>{"shared", "p-extended-resources-x7"}));
  EXPECT_TRUE(
      claims_of(pod_with(R"("status":{"extendedResourceClaimStatus":null})")).names.empty());
}

TEST(Pod, ANullEmptyDirIsNone) {
  EXPECT_FALSE(pod_with(R"("spec":{"volumes":[{"name":"a","emptyDir":null}]})").spec.has_empty_dir);
  EXPECT_FALSE(pod_with(R"("spec":{"volumes":null})").spec.has_empty_dir);
}

TEST(Pod, WrongTypesNameThePod) {
  for (std::string_view part :
       {R"("spec":{"containers":{}})", R"("spec":{"containers":[{"env":{}}]})",
        R"("spec":{"nodeName":7})", R"("status":{"containerStatuses":[{"restartCount":"3"}]})",
        R"("status":{"startTime":"noon"})", R"("status":{"conditions":"none"})",
        R"("spec":{"containers":[{"resources":{"limits":{"nvidia.com/gpu":"x"}}}]})"}) {
    std::string error =
        decode_error<Pod>(R"({"metadata":{"namespace":"n","name":"p"},)" + std::string(part) + "}");
    EXPECT_EQ(error.substr(0, 9), "Pod n/p: ") << part;
  }
}

}  // namespace
}  // namespace lockstep::pod_test
