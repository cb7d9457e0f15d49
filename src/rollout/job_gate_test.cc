#include "rollout/job_gate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/yaml.h"
#include "rollout/rollout_spec.h"

namespace lockstep::rollout::job_gate_test {
namespace {

Json details(const std::string& pod) {
  auto read = parse_yaml("template: {spec: " + pod + "}", "test");
  EXPECT_TRUE(read) << (read ? "" : read.error().text());
  return *read;
}

std::vector<std::string> problems_in(const Json& details) {
  Reading reading("job");
  reading.map(details, check_job_gate);
  return reading.texts();
}

std::vector<std::string> problems_of(const std::string& pod) { return problems_in(details(pod)); }

std::string pod_with(const std::string& fields) {
  return "{containers: [{name: c, image: i}], " + fields + "}";
}
std::string container_with(const std::string& fields) {
  return "{containers: [{name: c, image: i, " + fields + "}]}";
}
std::string init_container_with(const std::string& fields) {
  return "{containers: [{name: c, image: i}], initContainers: [{name: b, image: i, " + fields +
         "}]}";
}

struct Refused {
  std::string pod;
  std::string field;  // of the one problem
};

TEST(JobGate, EachFieldThatReachesOutOfThePodIsRefusedByItsPath) {
  const std::vector<Refused> table = {
      {pod_with("hostPID: true"), "hostPID"},
      {pod_with("hostIPC: true"), "hostIPC"},
      {pod_with("hostNetwork: true"), "hostNetwork"},
      {pod_with("hostNetwork: 'true'"), "hostNetwork"},
      {pod_with("hostAliases: []"), "hostAliases"},
      {pod_with("nodeName: control-plane"), "nodeName"},
      {pod_with("schedulerName: mine"), "schedulerName"},
      {pod_with("priorityClassName: system-node-critical"), "priorityClassName"},
      {pod_with("serviceAccountName: lockstep-controller"), "serviceAccountName"},
      {pod_with("serviceAccount: lockstep-controller"), "serviceAccount"},
      {pod_with("automountServiceAccountToken: true"), "automountServiceAccountToken"},
      {pod_with("ephemeralContainers: []"), "ephemeralContainers"},
      {pod_with("os: {name: windows}"), "os"},
      {pod_with("aFieldOfAnotherKubernetes: 1"), "aFieldOfAnotherKubernetes"},
      {pod_with("volumes: [{name: v, hostPath: {path: /}}]"), "volumes[0].hostPath"},
      {pod_with("volumes: [{name: v, secret: {secretName: s}}]"), "volumes[0].secret"},
      {pod_with("volumes: [{name: v, projected: {}}]"), "volumes[0].projected"},
      {pod_with("volumes: [{name: v, csi: {driver: d}}]"), "volumes[0].csi"},
      {pod_with("volumes: [{name: v, nfs: {}}]"), "volumes[0].nfs"},
      {pod_with("volumes: [{name: v, persistentVolumeClaim: {}}]"),
       "volumes[0].persistentVolumeClaim"},
      {pod_with("volumes: [{name: v, ephemeral: {}}]"), "volumes[0].ephemeral"},
      {pod_with("volumes: [{name: a, emptyDir: {}}, {name: b, hostPath: {path: /}}]"),
       "volumes[1].hostPath"},
      {pod_with("securityContext: {sysctls: []}"), "securityContext.sysctls"},
      {pod_with("securityContext: {seLinuxOptions: {}}"), "securityContext.seLinuxOptions"},
      {pod_with("securityContext: {windowsOptions: {}}"), "securityContext.windowsOptions"},
      {pod_with("securityContext: {appArmorProfile: {type: Unconfined}}"),
       "securityContext.appArmorProfile"},
      {pod_with("securityContext: {seccompProfile: {type: Unconfined}}"),
       "securityContext.seccompProfile.type"},
      {container_with("securityContext: {privileged: true}"),
       "containers[0].securityContext.privileged"},
      {container_with("securityContext: {allowPrivilegeEscalation: true}"),
       "containers[0].securityContext.allowPrivilegeEscalation"},
      {container_with("securityContext: {capabilities: {add: [SYS_ADMIN]}}"),
       "containers[0].securityContext.capabilities.add"},
      {container_with("securityContext: {procMount: Unmasked}"),
       "containers[0].securityContext.procMount"},
      {container_with("securityContext: {seccompProfile: {type: Localhost, localhostProfile: p}}"),
       "containers[0].securityContext.seccompProfile.type"},
      {container_with("securityContext: {appArmorProfile: {type: Unconfined}}"),
       "containers[0].securityContext.appArmorProfile"},
      {container_with("securityContext: {seLinuxOptions: {}}"),
       "containers[0].securityContext.seLinuxOptions"},
      {container_with("ports: [{containerPort: 1, hostPort: 22}]"),
       "containers[0].ports[0].hostPort"},
      {container_with("ports: [{containerPort: 1, hostIP: 10.0.0.1}]"),
       "containers[0].ports[0].hostIP"},
      {container_with("envFrom: [{secretRef: {name: s}}]"), "containers[0].envFrom[0].secretRef"},
      {container_with("env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]"),
       "containers[0].env[0].valueFrom.secretKeyRef"},
      {container_with("env: [{name: A, valueFrom: {fileKeyRef: {}}}]"),
       "containers[0].env[0].valueFrom.fileKeyRef"},
      {container_with("volumeDevices: []"), "containers[0].volumeDevices"},
      {container_with("volumeMounts: [{name: v, mountPath: /v, mountPropagation: Bidirectional}]"),
       "containers[0].volumeMounts[0].mountPropagation"},
      {container_with("livenessProbe: {httpGet: {host: 10.0.0.1, port: 1}}"),
       "containers[0].livenessProbe"},
      {container_with("lifecycle: {}"), "containers[0].lifecycle"},
      {init_container_with("securityContext: {privileged: true}"),
       "initContainers[0].securityContext.privileged"},
      {init_container_with("envFrom: [{secretRef: {name: s}}]"),
       "initContainers[0].envFrom[0].secretRef"},
      {init_container_with("restartPolicy: Always"), "initContainers[0].restartPolicy"},
      {"{containers: []}", "containers: is missing"},
      {"{containers: {name: c}}", "containers: must be a list"},
      {"{containers: [c]}", "containers[0]: must be a map"},
  };
  for (const Refused& row : table) {
    std::vector<std::string> problems = problems_of(row.pod);
    ASSERT_FALSE(problems.empty()) << row.pod;
    EXPECT_TRUE(problems.front().starts_with("job.template.spec." + row.field))
        << row.pod << ": " << problems.front();
    const RolloutSpec spec = read_rollout_spec(*parse_yaml(fmt::format(
        "spec: {{driver: {{kind: ClusterPolicy, name: p}}, waves: [{{name: a, nodes: {{count: 1}}, "
        "gates: [{{name: mine, job: {{template: {{spec: {}}}}}}}]}}]}}",
        row.pod)));
    ASSERT_FALSE(spec.problems.empty()) << row.pod;
    EXPECT_TRUE(
        spec.problems.front().starts_with("spec.waves[0].gates[0].job.template.spec." + row.field))
        << spec.problems.front();
  }
}

TEST(JobGate, AProblemSaysWhatToWriteInstead) {
  EXPECT_EQ(problems_of(pod_with("hostPID: true")).front(),
            "job.template.spec.hostPID: must be false in a Job gate, not true");
  EXPECT_EQ(problems_of(pod_with("volumes: [{name: v, hostPath: {path: /}}]")).front(),
            "job.template.spec.volumes[0].hostPath: is not allowed in a Job gate; use emptyDir, "
            "configMap or downwardAPI");
  EXPECT_EQ(problems_of(pod_with("serviceAccountName: lockstep-controller")).front(),
            "job.template.spec.serviceAccountName: must be \"lockstep-gate\" in a Job gate, not "
            "\"lockstep-controller\"");
}

TEST(JobGate, AllMistakesAreNamedAtOnce) {
  EXPECT_EQ(problems_of("{hostPID: true, hostNetwork: true, containers: [{name: c, image: i, "
                        "securityContext: {privileged: true}}], volumes: [{name: v, hostPath: "
                        "{path: /}}]}")
                .size(),
            4U);
  EXPECT_EQ(
      problems_in(*parse_json(R"({"backoffLimit":9,"template":{"spec":{"containers":[{}]}}})")),
      std::vector<std::string>{"job.backoffLimit: is not allowed in a Job gate"});
  EXPECT_EQ(problems_in(*parse_json(R"({})")),
            std::vector<std::string>{"job.template.spec.containers: is missing"});
}

constexpr const char* ordinary = R"({
    restartPolicy: Never, runtimeClassName: nvidia, activeDeadlineSeconds: 600,
    tolerations: [{operator: Exists}], hostNetwork: false, hostPID: false,
    imagePullSecrets: [{name: pull}], automountServiceAccountToken: false,
    securityContext: {runAsUser: 1000, seccompProfile: {type: RuntimeDefault}},
    volumes: [{name: shm, emptyDir: {medium: Memory}}, {name: hosts, configMap: {name: hosts}}],
    initContainers: [{name: b, image: i, command: [prepare]}],
    containers: [{name: nccl, image: "registry.example.com/nccl-tests:2.27", command: [sh, -c, run],
      env: [{name: A, value: b}, {name: N, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}],
      envFrom: [{configMapRef: {name: settings}}],
      resources: {limits: {nvidia.com/gpu: 8}}, ports: [{containerPort: 80}],
      securityContext: {privileged: false, capabilities: {drop: [ALL]}},
      volumeMounts: [{name: shm, mountPath: /dev/shm, mountPropagation: None}]}]})";

TEST(JobGate, AnOrdinaryTestIsAccepted) {
  std::vector<std::string> problems = problems_of(ordinary);
  EXPECT_TRUE(problems.empty()) << problems.front();
}

// What the API server would fill in by itself must not be what it fills in for a trusted pod.
TEST(JobGate, ItsPodHasNoRightsAndNoToken) {
  JsonObject pod = job_gate_pod(details(ordinary));
  EXPECT_EQ(as_text(pod.if_contains("serviceAccountName")), "lockstep-gate");
  EXPECT_FALSE(as_bool(pod.if_contains("automountServiceAccountToken"), true));
  EXPECT_EQ(text_at(Json(pod), "securityContext", "seccompProfile", "type"), "RuntimeDefault");
  EXPECT_EQ(as_integer(find(Json(pod), "securityContext", "runAsUser")), 1000);
  for (const char* list : {"containers", "initContainers"}) {
    const Json& container = std::as_const(pod).at(list).get_array()[0];
    EXPECT_FALSE(as_bool(find(container, "securityContext", "allowPrivilegeEscalation"), true))
        << list;
  }
  EXPECT_FALSE(as_bool(find(JsonObject(job_gate_pod(details("{containers: [{name: c}]}"))),
                            "automountServiceAccountToken"),
                       true));
}

}  // namespace
}  // namespace lockstep::rollout::job_gate_test
