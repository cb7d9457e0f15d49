// deploy.sh's own guarded restart, on an API server with a driver and plugin pods: run for real,
// with a real kubectl.
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
metadata: {name: $1, namespace: $2, labels: {$3}, ownerReferences: [$7]}
spec: {nodeName: $4, containers: [{name: c, image: i}]}
END
  kubectl patch pod "$1" -n "$2" --subresource=status --type=merge -p "{\"status\":{
    \"phase\":\"Running\",\"startTime\":\"$5\",\"conditions\":[
      {\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":\"$6\"}]}}"
}
plugin() { pod "$1" nvidia-dra-driver 'nvidia-dra-driver-gpu-component: kubelet-plugin' "$2" "$3" "$3"; }
driver() { # NAME NODE READY_SINCE [GENERATION]
  local labels="app.kubernetes.io/component: nvidia-driver, pod-template-generation: '${4:-1}'"
  pod "$1" gpu-operator "$labels, controller-revision-hash: h${4:-1}" \
    "$2" 2026-01-01T09:00:00Z "$3" "{apiVersion: apps/v1, kind: DaemonSet, name: driver, controller: true,
      uid: $(kubectl get daemonset driver -n gpu-operator -o 'jsonpath={.metadata.uid}')}"
}
node() { # NAME FIELDS...
  kubectl create -f - <<END
{apiVersion: v1, kind: Node, metadata: {name: $1, $2}, spec: {${3:-}}}
END
}
daemonset() { # DESIRED UPDATED
  kubectl apply -f - <<END
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: driver
  namespace: gpu-operator
  labels: {app.kubernetes.io/component: nvidia-driver}
  annotations: {deprecated.daemonset.template.generation: "1"}
spec:
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}
END
  kubectl patch daemonset driver -n gpu-operator --subresource=status --type=merge -p "{\"status\":{
    \"observedGeneration\":1,\"desiredNumberScheduled\":$1,\"currentNumberScheduled\":$1,
    \"numberMisscheduled\":0,\"updatedNumberScheduled\":$2,\"numberReady\":$2}}"
}
kubectl create namespace gpu-operator
kubectl create namespace nvidia-dra-driver
daemonset 2 2
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
      "kubectl delete pod old-a -n nvidia-dra-driver --now\n"
      "plugin young-a a 2026-01-01T10:00:01Z\ndeploy");
  EXPECT_EQ(run.exit_code, 0) << run.output << run.error;
  EXPECT_NE(run.output.find("none is restarted"), std::string::npos) << run.output;
  EXPECT_EQ(here.plugins(), "new-b young-a");
}

TEST(DeployScript, FailsAndSaysWhatIsMissingWhenTheDriverIsNotReadyInTime) {
  Restarting here;
  RecordingHelm helm(here.workshop);
  ProcessOutput run =
      here.run(fmt::format("kubectl patch pod driver-b -n gpu-operator --subresource=status "
                           "--type=merge -p '{{\"status\":{{\"conditions\":[{{\"type\":\"Ready\","
                           "\"status\":\"False\"}}]}}}}'\n"
                           "kubectl delete pod old-a -n nvidia-dra-driver --now\n"
                           "plugin young-a a 2026-01-01T10:00:01Z\nrm '{0}/checksums.txt'\n"
                           "sed -i \"s/ 1200 300$/ 1 1/\" '{0}/deploy.sh'\ndeploy",
                           here.bundle.string()));
  EXPECT_NE(run.exit_code, 0) << run.output;
  EXPECT_NE(run.error.find("Node b: its driver pod is not ready"), std::string::npos) << run.error;
  EXPECT_EQ(here.plugins(), "new-b young-a");
}

// Four nodes that the upgrade does not reach for now: a user's label, a closed wave in both ways in
// which a rollout holds it, an administrator's cordon. On b the driver is new and the plugin old.
TEST(DeployScript, DoesNotWaitForNodesThatAreHeldAndNamesThem) {
  Restarting here;
  RecordingHelm helm(here.workshop);
  ProcessOutput run = here.run(R"BASH(
daemonset 6 2
for n in c d e f; do driver "driver-$n" "$n" 2026-01-01T08:00:00Z 0; done
state() { echo "labels: {nvidia.com/gpu-driver-upgrade-state: $1${2:-}}"; }
node a "$(state upgrade-done)"
node b "$(state upgrade-done)"
node c "$(state upgrade-required ', nvidia.com/gpu-driver-upgrade.skip: "true"')"
node d "$(state upgrade-required), annotations: {lockstep.dev/awaits-rollout: driver}"
node e "$(state upgrade-required ', nvidia.com/gpu-driver-upgrade.skip: "true"'), annotations: {
  lockstep.dev/kept-back-by: driver}"
node f "$(state upgrade-required)" 'unschedulable: true'
kubectl delete pod old-a -n nvidia-dra-driver --now
plugin young-a a 2026-01-01T10:00:01Z
plugin old-d d 2026-01-01T07:00:00Z
deploy)BASH");
  EXPECT_EQ(run.exit_code, 0) << run.output << run.error;
  for (const char* said : {"c (skipped by its label)", "d (held by rollout driver)",
                           "e (held by rollout driver)", "f (cordoned by an administrator)"}) {
    EXPECT_NE(run.output.find(said), std::string::npos) << said << "\n" << run.output;
  }
  EXPECT_EQ(here.plugins(), "new-b old-d young-a");
}

TEST(DeployScript, ASelectorThatMatchesNoPodIsAnErrorAndNotNothingOlder) {
  Restarting here;
  RecordingHelm helm(here.workshop);
  ProcessOutput run = here.run(
      fmt::format("kubectl delete pods --all -n nvidia-dra-driver --now\nrm '{0}/checksums.txt'\n"
                  "sed -i \"s/ 1200 300$/ 1 1/\" '{0}/deploy.sh'\ndeploy",
                  here.bundle.string()));
  EXPECT_NE(run.exit_code, 0) << run.output;
  EXPECT_NE(run.error.find("No pod in nvidia-dra-driver has the labels"), std::string::npos)
      << run.error;
}

}  // namespace
}  // namespace lockstep::bundles::guarded_restart_test
