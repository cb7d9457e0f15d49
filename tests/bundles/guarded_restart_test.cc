// deploy.sh's own guarded restart, on an API server with a driver and plugin pods: run for real,
// with a genuine kubectl.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "recording_helm.h"
#include "workshop.h"

namespace lockstep::bundles::guarded_restart_test {
namespace {

// A driver on two nodes, ready at 10:00; on a the plugin is older than that, on b it is newer.
constexpr std::string_view objects = R"BASH(
pod() { # NAME NAMESPACE LABEL NODE STARTED READY_SINCE
  kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: $1, namespace: $2, labels: {$3}}
spec: {nodeName: $4, containers: [{name: c, image: i}]}
END
  kubectl patch pod "$1" -n "$2" --subresource=status --type=merge -p "{\"status\":{
    \"phase\":\"Running\",\"startTime\":\"$5\",\"conditions\":[
      {\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":\"$6\"}]}}"
}
plugin() { pod "$1" nvidia-dra-driver 'nvidia-dra-driver-gpu-component: kubelet-plugin' "$2" "$3" "$3"; }
driver() { pod "$1" gpu-operator 'app.kubernetes.io/component: nvidia-driver' "$2" 2026-01-01T09:00:00Z "$3"; }
daemonset() { # READY
  kubectl apply -f - <<END
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: driver, namespace: gpu-operator, labels: {app.kubernetes.io/component: nvidia-driver}}
spec:
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}
END
  kubectl patch daemonset driver -n gpu-operator --subresource=status --type=merge -p "{\"status\":{
    \"observedGeneration\":1,\"desiredNumberScheduled\":2,\"currentNumberScheduled\":2,
    \"numberMisscheduled\":0,\"updatedNumberScheduled\":2,\"numberReady\":$1}}"
}
kubectl create namespace gpu-operator
kubectl create namespace nvidia-dra-driver
driver driver-a a 2026-01-01T10:00:00Z
driver driver-b b 2026-01-01T10:00:00Z
plugin old-a a 2026-01-01T09:30:00Z
plugin new-b b 2026-01-01T10:30:00Z
)BASH";

struct Restarting {
  Workshop workshop;
  Path bundle;

  Restarting() {
    workshop.serve_empty();
    bundle = workshop.bundle(flagship(), "helm");
  }
  ProcessOutput run(const std::string& script) {
    return workshop.try_sh(
        fmt::format("set -e; deploy() {{ POLL_SECONDS=0.2 '{}/deploy.sh' --from "
                    "gpu-operator-post; }}\n{}\n{}",
                    bundle.string(), objects, script));
  }
  std::string plugins() {
    return workshop.sh(
        "kubectl get pods -n nvidia-dra-driver -o jsonpath='{.items[*].metadata.name}'");
  }
};

TEST(DeployScript, RestartsOnlyThePluginPodThatIsOlderThanItsNodesDriver) {
  Restarting here;
  RecordingHelm helm(here.workshop);
  // The DaemonSet controller's part: a new pod once the old one is gone.
  ProcessOutput run = here.run(R"BASH(
daemonset 2
(for _ in $(seq 300); do
   kubectl get pod old-a -n nvidia-dra-driver >/dev/null 2>&1 || break
   sleep 0.1
 done; plugin next-a a 2026-01-01T11:00:00Z) >/dev/null &
deploy
wait)BASH");
  EXPECT_EQ(run.exit_code, 0) << run.output << run.error;
  EXPECT_NE(run.output.find("Restarting 1 pod(s) older than the driver"), std::string::npos)
      << run.output;
  EXPECT_EQ(here.plugins(), "new-b next-a");
}

TEST(DeployScript, TouchesNoPodThatIsNewerThanTheDriver) {
  Restarting here;
  RecordingHelm helm(here.workshop);
  ProcessOutput run = here.run(
      "daemonset 2\nkubectl delete pod old-a -n nvidia-dra-driver --now\n"
      "plugin young-a a 2026-01-01T10:00:01Z\ndeploy");
  EXPECT_EQ(run.exit_code, 0) << run.output << run.error;
  EXPECT_NE(run.output.find("none is restarted"), std::string::npos) << run.output;
  EXPECT_EQ(here.plugins(), "new-b young-a");
}

TEST(DeployScript, FailsAndSaysWhatIsMissingWhenTheDriverIsNotReadyInTime) {
  Restarting here;
  RecordingHelm helm(here.workshop);
  ProcessOutput run =
      here.run(fmt::format("daemonset 1\nrm '{0}/checksums.txt'\n"
                           "sed -i \"s/ 1200 300$/ 1 1/\" '{0}/deploy.sh'\ndeploy",
                           here.bundle.string()));
  EXPECT_NE(run.exit_code, 0) << run.output;
  EXPECT_NE(run.error.find("DaemonSet driver: 2 of 2 pods are up to date, 1 are ready"),
            std::string::npos)
      << run.error;
  EXPECT_EQ(here.plugins(), "new-b old-a");
}

}  // namespace
}  // namespace lockstep::bundles::guarded_restart_test
