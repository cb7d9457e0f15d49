#include "fleet_json.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace lockstep::bench {

namespace {

constexpr std::array<std::string_view, 44> cpu_features = {
    "ADX",        "AESNI",      "AMXBF16",      "AMXINT8",    "AMXTILE",     "AVX",
    "AVX2",       "AVX512BF16", "AVX512BITALG", "AVX512BW",   "AVX512CD",    "AVX512DQ",
    "AVX512F",    "AVX512FP16", "AVX512IFMA",   "AVX512VBMI", "AVX512VBMI2", "AVX512VL",
    "AVX512VNNI", "AVXVNNI",    "CLDEMOTE",     "CMPXCHG8",   "ENQCMD",      "FMA3",
    "FSRM",       "FXSR",       "GFNI",         "HYPERVISOR", "IBPB",        "LAHF",
    "MOVBE",      "MOVDIR64B",  "MOVDIRI",      "OSXSAVE",    "SERIALIZE",   "SHA",
    "STIBP",      "SYSCALL",    "VAES",         "VPCLMULQDQ", "WBNOINVD",    "X87",
    "XGETBV1",    "XSAVE"};

constexpr std::array<std::pair<std::string_view, std::string_view>, 16> machine_features = {
    {{"cpu-hardware_multithreading", "true"},
     {"cpu-model.family", "6"},
     {"cpu-model.id", "143"},
     {"cpu-model.vendor_id", "Intel"},
     {"kernel-config.NO_HZ", "true"},
     {"kernel-config.NO_HZ_IDLE", "true"},
     {"kernel-version.full", "5.15.0-119-generic"},
     {"kernel-version.major", "5"},
     {"kernel-version.minor", "15"},
     {"kernel-version.revision", "0"},
     {"memory-numa", "true"},
     {"pci-10de.present", "true"},
     {"rdma.available", "true"},
     {"rdma.capable", "true"},
     {"system-os_release.ID", "ubuntu"},
     {"system-os_release.VERSION_ID", "22.04"}}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 32> gpu_labels = {
    {{"cuda.driver-version.full", "580.65.06"},
     {"cuda.driver-version.major", "580"},
     {"cuda.driver-version.minor", "65"},
     {"cuda.driver-version.revision", "06"},
     {"cuda.runtime-version.full", "13.0"},
     {"cuda.runtime-version.major", "13"},
     {"cuda.runtime-version.minor", "0"},
     {"gfd.timestamp", "1763180000"},
     {"gpu-driver-upgrade-state", "upgrade-done"},
     {"gpu.clique", "0"},
     {"gpu.compute.major", "9"},
     {"gpu.compute.minor", "0"},
     {"gpu.count", "8"},
     {"gpu.deploy.container-toolkit", "true"},
     {"gpu.deploy.dcgm", "true"},
     {"gpu.deploy.dcgm-exporter", "true"},
     {"gpu.deploy.device-plugin", "true"},
     {"gpu.deploy.driver", "true"},
     {"gpu.deploy.gpu-feature-discovery", "true"},
     {"gpu.deploy.mig-manager", "true"},
     {"gpu.deploy.node-status-exporter", "true"},
     {"gpu.deploy.operator-validator", "true"},
     {"gpu.family", "hopper"},
     {"gpu.machine", "DGX-H100"},
     {"gpu.memory", "81559"},
     {"gpu.mode", "compute"},
     {"gpu.present", "true"},
     {"gpu.product", "NVIDIA-H100-80GB-HBM3"},
     {"gpu.replicas", "1"},
     {"mig.capable", "true"},
     {"mig.config", "all-disabled"},
     {"mig.strategy", "single"}}};

// A uid that looks like one and is the same for the same number.
std::string uid_of(std::string_view kind, size_t number) {
  uint64_t bits = std::hash<std::string_view>()(kind) ^ (number * 0x9e3779b97f4a7c15U);
  bits ^= bits >> 29;
  bits *= 0xbf58476d1ce4e5b9U;
  return fmt::format("{:08x}-{:04x}-4{:03x}-9{:03x}-{:012x}", bits >> 32, (bits >> 16) & 0xffff,
                     bits & 0xfff, (bits >> 40) & 0xfff, bits & 0xffffffffffff);
}

std::string labels_of(size_t number) {
  std::string name = node_name(number);
  std::string text = R"("beta.kubernetes.io/arch":"amd64","beta.kubernetes.io/os":"linux")";
  for (std::string_view feature : cpu_features) {
    text += fmt::format(R"(,"feature.node.kubernetes.io/cpu-cpuid.{}":"true")", feature);
  }
  for (const auto& [key, value] : machine_features) {
    text += fmt::format(R"(,"feature.node.kubernetes.io/{}":"{}")", key, value);
  }
  text += fmt::format(
      R"(,"kubernetes.io/arch":"amd64","kubernetes.io/hostname":"{}","kubernetes.io/os":"linux")"
      R"(,"node-role.kubernetes.io/gpu":"")",
      name);
  for (const auto& [key, value] : gpu_labels) {
    text += fmt::format(R"(,"nvidia.com/{}":"{}")", key, value);
  }
  text += fmt::format(R"(,"topology.kubernetes.io/region":"eu-north1")"
                      R"(,"topology.kubernetes.io/zone":"eu-north1-{}")",
                      static_cast<char>('a' + number % 3));
  return text;
}

std::string annotations_of(size_t number) {
  std::string features = "cpu-hardware_multithreading";
  for (std::string_view feature : cpu_features) features += fmt::format(",cpu-cpuid.{}", feature);
  for (const auto& [key, value] : machine_features) features += fmt::format(",{}", key);
  return fmt::format(
      R"("csi.volume.kubernetes.io/nodeid":"{{\"disk.csi.example.com\":\"computeinstanc)"
      R"(e-{0:017x}\"}}")"
      R"(,"kubeadm.alpha.kubernetes.io/cri-socket":"unix:///var/run/containerd/containerd.sock")"
      R"(,"nfd.node.kubernetes.io/feature-labels":"{1}")"
      R"(,"node.alpha.kubernetes.io/ttl":"300","nvidia.com/gpu-driver-upgrade-enabled":"true")"
      R"(,"projectcalico.org/IPv4Address":"10.{2}.{3}.{4}/16")"
      R"(,"projectcalico.org/IPv4IPIPTunnelAddr":"192.168.{3}.{4}")"
      R"(,"volumes.kubernetes.io/controller-managed-attach-detach":"true")",
      number, features, 64 + number / 65536, number / 256 % 256, number % 256);
}

std::string conditions_of() {
  struct Kind {
    std::string_view type, status, reason, message;
  };
  constexpr std::array<Kind, 8> kinds = {
      {{"NetworkUnavailable", "False", "CalicoIsUp", "Calico is running on this node"},
       {"KernelDeadlock", "False", "KernelHasNoDeadlock", "kernel has no deadlock"},
       {"ReadonlyFilesystem", "False", "FilesystemIsNotReadOnly", "Filesystem is not read-only"},
       {"GpuXidError", "False", "NoXidError", "no fatal XID since boot"},
       {"MemoryPressure", "False", "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available"},
       {"DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
       {"PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
       {"Ready", "True", "KubeletReady", "kubelet is posting ready status"}}};
  std::string text;
  for (const Kind& kind : kinds) {
    if (!text.empty()) text += ',';
    text += fmt::format(R"({{"lastHeartbeatTime":"2026-11-15T04:20:11Z",)"
                        R"("lastTransitionTime":"2026-10-01T09:00:02Z")"
                        R"(,"message":"{}","reason":"{}","status":"{}","type":"{}"}})",
                        kind.message, kind.reason, kind.status, kind.type);
  }
  return text;
}

std::string images_of(int count) {
  constexpr std::array<std::string_view, 6> names = {"nvcr.io/nvidia/driver",
                                                     "nvcr.io/nvidia/cloud-native/dcgm",
                                                     "nvcr.io/nvidia/k8s-device-plugin",
                                                     "registry.k8s.io/kube-proxy",
                                                     "docker.io/calico/node",
                                                     "ghcr.io/example/training"};
  std::string text;
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += ',';
    std::string_view name = names[static_cast<size_t>(i) % names.size()];
    text += fmt::format(R"({{"names":["{}@sha256:{:064x}","{}:v{}.{}.{}"],"sizeBytes":{}}})", name,
                        static_cast<uint64_t>(i + 1) * 0x9e3779b97f4a7c15U, name, i / 5 + 1, i % 7,
                        i % 3, 911'000'000 - i * 20'000'000);
  }
  return text;
}

std::string managed_fields_of() {
  auto entry = [](std::string_view manager, std::string_view fields, bool status) {
    return fmt::format(
        R"({{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{{}}},"manager":"{}")"
        R"(,"operation":"Update"{},"time":"2026-11-15T04:20:11Z"}})",
        fields, manager, status ? R"(,"subresource":"status")" : "");
  };
  return entry("kubelet",
               R"("f:metadata":{"f:annotations":{".":{},)"
               R"("f:volumes.kubernetes.io/controller-managed-attach-detach":{}},)"
               R"("f:labels":{".":{},"f:kubernetes.io/arch":{},)"
               R"("f:kubernetes.io/hostname":{},"f:kubernetes.io/os":{}}})",
               false) +
         "," +
         entry("gpu-operator",
               R"("f:metadata":{"f:labels":{"f:nvidia.com/gpu.deploy.driver":{},)"
               R"("f:nvidia.com/gpu.deploy.device-plugin":{},)"
               R"("f:nvidia.com/gpu.present":{}}})",
               false) +
         "," +
         entry("kubelet",
               R"("f:status":{"f:allocatable":{"f:memory":{},"f:nvidia.com/gpu":{}},)"
               R"("f:conditions":{"k:{\"type\":\"DiskPressure\"}":{"f:lastHeartbeatTime":)"
               R"({}},"k:{\"type\":\"MemoryPressure\"}":{"f:lastHeartbeatTime":{}},)"
               R"("k:{\"type\":\"Ready\"}":{"f:lastHeartbeatTime":{},"f:message":{},)"
               R"("f:reason":{},"f:status":{}}},"f:images":{}})",
               true);
}

struct Role {
  std::string_view name, ns, image;
  bool daemon_set;
  int gpus;
};
constexpr std::array<Role, pods_per_node> roles = {
    {{"nvidia-driver-daemonset", "gpu-operator", "nvcr.io/nvidia/driver:580.65.06-ubuntu22.04",
      true, 0},
     {"nvidia-device-plugin-daemonset", "gpu-operator", "nvcr.io/nvidia/k8s-device-plugin:v0.18.0",
      true, 0},
     {"nvidia-dcgm-exporter", "gpu-operator", "nvcr.io/nvidia/k8s/dcgm-exporter:4.4.0", true, 0},
     {"nvidia-operator-validator", "gpu-operator", "nvcr.io/nvidia/gpu-operator:v25.10.0", true, 0},
     {"calico-node", "kube-system", "docker.io/calico/node:v3.30.2", true, 0},
     {"kube-proxy", "kube-system", "registry.k8s.io/kube-proxy:v1.34.1", true, 0},
     {"node-exporter", "monitoring", "quay.io/prometheus/node-exporter:v1.9.1", true, 0},
     {"training-worker", "research", "ghcr.io/example/training:2026.11", false, 4},
     {"inference-server", "serving", "ghcr.io/example/inference:7.2", false, 2},
     {"notebook", "research", "ghcr.io/example/notebook:5", false, 1}}};

std::string container_of(const Role& role, std::string_view name, std::string_view digest) {
  std::string gpus = role.gpus == 0 ? "" : fmt::format(R"("nvidia.com/gpu":"{}",)", role.gpus);
  return fmt::format(
      R"({{"name":"{0}","image":"{1}","imagePullPolicy":"IfNotPresent",)"
      R"("env":[{{"name":"NODE_NAME",)"
      R"("valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"spec.nodeName"}}}}}},)"
      R"({{"name":"DRIVER_CONFIG_DIGEST","value":"{2}"}},{{"name":"LOG_LEVEL","value":"info"}}],)"
      R"("resources":{{"limits":{{{3}"cpu":"4","memory":"32Gi"}},)"
      R"("requests":{{{3}"cpu":"2","memory":"16Gi"}}}},"securityContext":{{"privileged":true}},)"
      R"("terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",)"
      R"("volumeMounts":[{{"mountPath":"/run/nvidia","name":"run-nvidia"}},{{"mountPath":)"
      R"("/var/run/secrets/kubernetes.io/serviceaccount","name":"kube-api-access",)"
      R"("readOnly":true}}]}})",
      name, role.image, digest, gpus);
}

std::string status_of(const Role& role, std::string_view name, bool finished) {
  std::string state = finished ? R"({"terminated":{"containerID":"containerd://aa","exitCode":0,)"
                                 R"("finishedAt":"2026-11-01T10:00:05Z","reason":"Completed",)"
                                 R"("startedAt":"2026-11-01T10:00:03Z"}})"
                               : R"({"running":{"startedAt":"2026-11-01T10:00:07Z"}})";
  return fmt::format(
      R"({{"containerID":"containerd://{2:064x}","image":"{0}","imageID":"{0}@sha256:{2:064x}",)"
      R"("lastState":{{}},"name":"{1}","ready":true,"restartCount":0,"started":{4},"state":{3}}})",
      role.image, name, name.size() * 0x9e3779b97f4a7c15U, state, !finished);
}

}  // namespace

std::string node_name(size_t number) { return fmt::format("gpu-node-{:05}", number); }

std::string node_json(size_t number, const NodeShape& shape) {
  constexpr std::string_view amounts =
      R"("cpu":"192","ephemeral-storage":"1845501032Ki","hugepages-1Gi":"0","hugepages-2Mi":"0",)"
      R"("memory":"2113406248Ki","nvidia.com/gpu":"8","pods":"110",)"
      R"("rdma/hca_shared_devices_a":"63")";
  return fmt::format(
      R"({{"metadata":{{"annotations":{{{0}}},"creationTimestamp":"2026-10-01T09:00:00Z",)"
      R"("labels":{{{1}}}{2},"name":"{3}","resourceVersion":"{4}","uid":"{5}"}},)"
      R"("spec":{{"podCIDR":"10.244.{6}.0/24","podCIDRs":["10.244.{6}.0/24"],"providerID":)"
      R"("example://computeinstance-{7:017x}","taints":[{{"effect":"NoSchedule","key":)"
      R"("nvidia.com/gpu","value":"present"}}]}},)"
      R"("status":{{"addresses":[{{"address":"10.{8}.{9}.{6}",)"
      R"("type":"InternalIP"}},{{"address":"{3}","type":"Hostname"}}],"allocatable":{{{10}}},)"
      R"("capacity":{{{10}}},"conditions":[{11}],)"
      R"("daemonEndpoints":{{"kubeletEndpoint":{{"Port":10250}}}},)"
      R"("images":[{12}],"nodeInfo":{{"architecture":"amd64","bootID":"{13}",)"
      R"("containerRuntimeVersion":"containerd://2.1.4","kernelVersion":"5.15.0-119-generic",)"
      R"("kubeProxyVersion":"v1.34.1","kubeletVersion":"v1.34.1","machineID":"{7:032x}",)"
      R"("operatingSystem":"linux","osImage":"Ubuntu 22.04.5 LTS","systemUUID":"{5}"}}}}}})",
      annotations_of(number), labels_of(number),
      shape.managed_fields ? fmt::format(R"(,"managedFields":[{}])", managed_fields_of()) : "",
      node_name(number), 90'000'000 + number * 7, uid_of("node", number), number % 256, number,
      64 + number / 65536, number / 256 % 256, amounts, conditions_of(), images_of(shape.images),
      uid_of("boot", number));
}

std::string pod_json(size_t number) {
  size_t node = number / pods_per_node;
  const Role& role = roles[number % pods_per_node];
  std::string uid = uid_of("pod", number);
  std::string name = fmt::format("{}-{:05x}", role.name, node);
  size_t owner = role.daemon_set ? 0 : 1 + node / 64;
  std::string owner_uid = uid_of("owner", owner * pods_per_node + number % pods_per_node);
  std::string owner_name =
      role.daemon_set ? std::string(role.name) : fmt::format("{}-{}", role.name, owner);
  return fmt::format(
      R"({{"metadata":{{"annotations":{{"cni.projectcalico.org/containerID":"{0:064x}",)"
      R"("cni.projectcalico.org/podIP":"192.168.{1}.{2}/32","cni.projectcalico.org/podIPs":)"
      R"("192.168.{1}.{2}/32"}},"creationTimestamp":"2026-11-01T10:00:00Z","generateName":"{3}-",)"
      R"("generation":1,"labels":{{"app":"{3}","app.kubernetes.io/component":"{3}",)"
      R"("app.kubernetes.io/managed-by":"gpu-operator","controller-revision-hash":"6f7c9d8b5d",)"
      R"("helm.sh/chart":"gpu-operator-v25.10.0","pod-template-generation":"3"}},"managedFields":)"
      R"([{{"apiVersion":"v1","fieldsType":"FieldsV1",)"
      R"("fieldsV1":{{"f:metadata":{{"f:generateName":{{}},)"
      R"("f:labels":{{".":{{}},"f:app":{{}},"f:controller-revision-hash":{{}}}},)"
      R"("f:ownerReferences":{{}}}},)"
      R"("f:spec":{{"f:containers":{{}},"f:dnsPolicy":{{}},"f:tolerations":{{}},)"
      R"("f:volumes":{{}}}}}},)"
      R"("manager":"kube-controller-manager","operation":"Update",)"
      R"("time":"2026-11-01T10:00:00Z"}}],)"
      R"("name":"{4}","namespace":"{5}","ownerReferences":[{{"apiVersion":"apps/v1",)"
      R"("blockOwnerDeletion":true,"controller":true,"kind":"{6}","name":"{7}","uid":"{8}"}}],)"
      R"("resourceVersion":"{9}","uid":"{10}"}},"spec":{{"containers":[{11}],)"
      R"("initContainers":[{12}],)"
      R"("dnsPolicy":"ClusterFirst","enableServiceLinks":true,"nodeName":"{13}",)"
      R"("priority":2000001000,)"
      R"("restartPolicy":"Always","runtimeClassName":"nvidia","schedulerName":"default-scheduler",)"
      R"("serviceAccountName":"default","terminationGracePeriodSeconds":60,)"
      R"("tolerations":[{{"effect":)"
      R"("NoSchedule","key":"nvidia.com/gpu","operator":"Exists"}},{{"effect":"NoExecute","key":)"
      R"("node.kubernetes.io/not-ready","operator":"Exists"}}],"volumes":[{{"hostPath":{{"path":)"
      R"("/run/nvidia","type":"DirectoryOrCreate"}},"name":"run-nvidia"}},)"
      R"({{"emptyDir":{{}},"name":)"
      R"("scratch"}},{{"name":"kube-api-access","projected":{{"defaultMode":420,)"
      R"("sources":[]}}}}]}},)"
      R"("status":{{"conditions":[{{"lastProbeTime":null,)"
      R"("lastTransitionTime":"2026-11-01T10:00:05Z",)"
      R"("status":"True","type":"Initialized"}},{{"lastProbeTime":null,"lastTransitionTime":)"
      R"("2026-11-01T10:00:09Z","status":"True","type":"Ready"}},{{"lastProbeTime":null,)"
      R"("lastTransitionTime":"2026-11-01T10:00:09Z","status":"True","type":"ContainersReady"}},)"
      R"({{"lastProbeTime":null,"lastTransitionTime":"2026-11-01T10:00:00Z",)"
      R"("status":"True","type":)"
      R"("PodScheduled"}}],"containerStatuses":[{14}],"hostIP":"10.64.{1}.{2}",)"
      R"("initContainerStatuses":[{15}],"phase":"Running","podIP":"192.168.{1}.{2}",)"
      R"("qosClass":"Burstable","startTime":"2026-11-01T10:00:00Z"}}}})",
      number * 0x9e3779b97f4a7c15U, number / 256 % 256, number % 256, role.name, name, role.ns,
      role.daemon_set ? "DaemonSet" : "ReplicaSet", owner_name, owner_uid, 95'000'000 + number * 3,
      uid, container_of(role, "main", "3856428012"), container_of(role, "prepare", "3856428012"),
      node_name(node), status_of(role, "main", false), status_of(role, "prepare", true));
}

size_t pod_in_list_order(size_t position, size_t nodes) {
  std::array<size_t, pods_per_node> order{};
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [](size_t a, size_t b) {
    return std::pair(roles[a].ns, roles[a].name) < std::pair(roles[b].ns, roles[b].name);
  });
  return position % nodes * pods_per_node + order[position / nodes];
}

std::string list_json(std::string_view kind, std::string_view api_version, size_t count,
                      const std::function<std::string(size_t)>& item) {
  std::string text = fmt::format(R"({{"kind":"{}List","apiVersion":"{}",)"
                                 R"("metadata":{{"resourceVersion":"99000000"}},"items":[)",
                                 kind, api_version);
  for (size_t i = 0; i < count; ++i) {
    std::string one = item(i);
    if (i == 0) text.reserve(text.size() + count * (one.size() + one.size() / 16 + 64));
    if (i > 0) text += ',';
    text += one;
  }
  text += "]}\n";
  return text;
}

}  // namespace lockstep::bench
