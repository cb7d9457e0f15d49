#include "sim/actors/pod_run.h"

#include <gtest/gtest.h>

#include "objects/decode.h"

namespace lockstep::sim::pod_run_test {
namespace {

Json driver_pod() {
  JsonObject init{
      {"name", "k8s-driver-manager"},
      {"image", "m"},
      {"env", JsonArray{JsonObject{{"name", "DRIVER_CONFIG_DIGEST"}, {"value", "abc"}}}}};
  JsonObject main{{"name", "nvidia-driver-ctr"}, {"image", "r/driver:580.1.2-ubuntu24.04"}};
  return JsonObject{
      {"metadata", JsonObject{{"name", "d-1"},
                              {"namespace", "gpu-operator"},
                              {"uid", "u"},
                              {"labels", JsonObject{{"app", "nvidia-driver-daemonset"}}},
                              {"annotations", JsonObject{{"sim.lockstep.dev/stop-seconds", "7"}}}}},
      {"spec", JsonObject{{"nodeName", "gpu-1"},
                          {"initContainers", JsonArray{std::move(init)}},
                          {"containers", JsonArray{std::move(main)}}}}};
}

PodRun run_of(const Json& document) {
  DecodeContext context;
  Pod pod = *decode_object<Pod>(document, context);
  ObjectKey key = pod.meta.key();
  PodRun run(key, std::move(pod), document);
  run.started = Time::from_unix(100);
  return run;
}

TEST(PodRunTest, ARoleIsToldByLabels) {
  EXPECT_EQ(role_of("gpu-operator", {{"app", "nvidia-driver-daemonset"}}), Role::driver);
  EXPECT_EQ(
      role_of("gpu-operator", {{"app.kubernetes.io/component", "nvidia-driver"}, {"app", "x"}}),
      Role::driver);
  EXPECT_EQ(role_of("dra", {{"app", "nvidia-dra-driver-gpu-kubelet-plugin"}}), Role::dra_plugin);
  EXPECT_EQ(role_of("dra", {{"dra-driver-nvidia-gpu-component", "kubelet-plugin"}}),
            Role::dra_plugin);
  EXPECT_EQ(role_of("gpu-operator", {{"app", "nvidia-operator-validator"}}), Role::validator);
  EXPECT_EQ(role_of("ml", {{"app", "web"}}), Role::workload);
  EXPECT_EQ(role_of(tenant_namespace, {{"app", "nvidia-driver-daemonset"}}), Role::workload);
  EXPECT_EQ(to_string(Role::dra_plugin), "dra-plugin");
  EXPECT_EQ(to_string(Step::stopped), "stopped");
}

TEST(PodRunTest, ReadsWhatThePodIs) {
  PodRun run = run_of(driver_pod());
  EXPECT_EQ(run.role, Role::driver);
  EXPECT_EQ(run.driver_version(), "580.1.2");
  EXPECT_EQ(run.driver_digest(), "abc");
  EXPECT_EQ(run.stop_time, seconds(7));
  EXPECT_LT(run.run_time, Duration(0));
  EXPECT_FALSE(run.uses_gpu);
  EXPECT_FALSE(run.running());
}

TEST(PodRunTest, TheStatusIsThatOfARealKubelet) {
  PodRun run = run_of(driver_pod());
  DecodeContext context;
  auto shown = [&] {
    Json document = driver_pod();
    document.as_object()["status"] = status_of(run, "10.0.0.4");
    return *decode_object<Pod>(document, context);
  };
  Pod pending = shown();
  EXPECT_EQ(pending.phase, PodPhase::pending);
  EXPECT_EQ(pending.container_statuses[0].waiting_reason, "PodInitializing");
  EXPECT_FALSE(pending.ready);

  run.begin(run.init_containers[0], Time::from_unix(101));
  EXPECT_TRUE(shown().init_container_statuses[0].running());
  run.end(run.init_containers[0], Time::from_unix(102), 0);
  ++run.init;
  EXPECT_TRUE(shown().init_container_statuses[0].ready);

  run.phase = PodPhase::running;
  run.begin(run.containers[0], Time::from_unix(103));
  run.set_ready(true, Time::from_unix(110));
  Pod ready = shown();
  EXPECT_TRUE(ready.ready);
  EXPECT_EQ(ready.ready_since, Time::from_unix(110));
  EXPECT_EQ(ready.container_statuses[0].started, Time::from_unix(103));

  run.end(run.containers[0], Time::from_unix(120), 1);
  run.containers[0].restarts = 1;
  run.set_ready(false, Time::from_unix(120));
  run.set_waiting("CrashLoopBackOff", "back-off");
  Pod crashed = shown();
  EXPECT_FALSE(crashed.ready);
  EXPECT_EQ(crashed.container_statuses[0].waiting_reason, "CrashLoopBackOff");
  EXPECT_EQ(crashed.container_statuses[0].restarts, 1);
  EXPECT_EQ(crashed.container_statuses[0].exit_code, 1);
  EXPECT_EQ(find(status_of(run, ""), "reason"), nullptr);

  run.phase = PodPhase::failed;
  run.phase_reason = "Evicted";
  run.phase_message = "the node was low on disk";
  const Json failed = status_of(run, "");
  EXPECT_EQ(text_at(failed, "reason"), "Evicted");
  EXPECT_EQ(text_at(failed, "message"), "the node was low on disk");
}

}  // namespace
}  // namespace lockstep::sim::pod_run_test
