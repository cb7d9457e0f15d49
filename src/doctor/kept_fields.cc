#include "doctor/kept_fields.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace lockstep::doctor {

namespace {

using enum Shape;

constexpr KeptField metadata[] = {
    {"apiVersion", plain},
    {"kind", word},
    {"metadata.name", name},
    {"metadata.namespace", name},
    {"metadata.generateName", name},
    {"metadata.uid", uuid},
    {"metadata.resourceVersion", plain},
    {"metadata.generation", number},
    {"metadata.creationTimestamp", plain},
    {"metadata.deletionTimestamp", plain},
    {"metadata.deletionGracePeriodSeconds", number},
    {"metadata.finalizers[]", word},
    {"metadata.labels", labels},
    {"metadata.annotations", notes},
    {"metadata.ownerReferences[].kind", word},
    {"metadata.ownerReferences[].name", name},
    {"metadata.ownerReferences[].uid", uuid},
    {"metadata.ownerReferences[].controller", number},
};

constexpr KeptField conditions[] = {
    {"conditions[].type", word},
    {"conditions[].status", word},
    {"conditions[].reason", word},
    {"conditions[].message", text},
    {"conditions[].lastTransitionTime", plain},
    {"conditions[].lastHeartbeatTime", plain},
    {"conditions[].lastProbeTime", plain},
    {"conditions[].lastUpdateTime", plain},
    {"conditions[].observedGeneration", number},
};

constexpr KeptField node[] = {
    {"spec.unschedulable", number},
    {"spec.taints[].key", word},
    {"spec.taints[].effect", word},
    {"spec.taints[].timeAdded", plain},
    {"status.nodeInfo.kernelVersion", plain},
    {"status.nodeInfo.osImage", plain},
    {"status.nodeInfo.operatingSystem", word},
    {"status.nodeInfo.architecture", word},
    {"status.nodeInfo.containerRuntimeVersion", plain},
    {"status.nodeInfo.kubeletVersion", plain},
    {"status.capacity", amounts},
    {"status.allocatable", amounts},
};

constexpr KeptField container[] = {
    {"name", name},
    {"image", plain},
    {"imagePullPolicy", word},
    {"args", options},
    {"env[].name", word},
    {"resources.limits", amounts},
    {"resources.requests", amounts},
    {"resources.claims[].name", name},
    {"volumeMounts[].name", name},
    {"volumeMounts[].mountPath", plain},
    {"volumeMounts[].readOnly", number},
    {"securityContext.privileged", number},
};

// Of pods and of the templates that make them; without their containers.
constexpr KeptField pod_spec[] = {
    {"nodeName", name},
    {"serviceAccountName", name},
    {"restartPolicy", word},
    {"priorityClassName", name},
    {"runtimeClassName", name},
    {"schedulerName", name},
    {"hostNetwork", number},
    {"hostPID", number},
    {"terminationGracePeriodSeconds", number},
    {"activeDeadlineSeconds", number},
    {"nodeSelector", labels},
    {"tolerations[].key", word},
    {"tolerations[].operator", word},
    {"tolerations[].effect", word},
    {"tolerations[].tolerationSeconds", number},
    {"resourceClaims[].name", name},
    {"resourceClaims[].resourceClaimName", name},
    {"resourceClaims[].resourceClaimTemplateName", name},
    {"volumes[].name", name},
    {"volumes[].hostPath.path", plain},
    {"volumes[].emptyDir.medium", word},
    {"volumes[].persistentVolumeClaim.claimName", name},
    {"volumes[].configMap.name", name},
    {"volumes[].secret.secretName", name},
};

constexpr KeptField template_metadata[] = {
    {"metadata.labels", labels},
    {"metadata.annotations", notes},
};

constexpr KeptField pod_status[] = {
    {"status.phase", word},
    {"status.reason", word},
    {"status.message", text},
    {"status.qosClass", word},
    {"status.nominatedNodeName", name},
    {"status.startTime", plain},
    {"status.hostIP", name},
    {"status.podIP", name},
    {"status.resourceClaimStatuses[].name", name},
    {"status.resourceClaimStatuses[].resourceClaimName", name},
};

constexpr KeptField container_status[] = {
    {"name", name},
    {"image", plain},
    {"imageID", plain},
    {"ready", number},
    {"started", number},
    {"restartCount", number},
    {"state.waiting.reason", word},
    {"state.waiting.message", text},
    {"state.running.startedAt", plain},
    {"state.terminated.reason", word},
    {"state.terminated.message", text},
    {"state.terminated.exitCode", number},
    {"state.terminated.signal", number},
    {"state.terminated.startedAt", plain},
    {"state.terminated.finishedAt", plain},
    {"lastState.terminated.reason", word},
    {"lastState.terminated.message", text},
    {"lastState.terminated.exitCode", number},
    {"lastState.terminated.signal", number},
    {"lastState.terminated.startedAt", plain},
    {"lastState.terminated.finishedAt", plain},
};

constexpr KeptField upgrade_policy[] = {
    {"autoUpgrade", number},
    {"maxParallelUpgrades", number},
    {"maxUnavailable", scalar},
    {"maxFailures", scalar},
    {"waitForCompletion.podSelector", plain},
    {"waitForCompletion.timeoutSeconds", number},
    {"podDeletion.force", number},
    {"podDeletion.deleteEmptyDir", number},
    {"podDeletion.timeoutSeconds", number},
    {"drain.enable", number},
    {"drain.force", number},
    {"drain.deleteEmptyDir", number},
    {"drain.podSelector", plain},
    {"drain.timeoutSeconds", number},
    {"deadlines.restartSeconds", number},
    {"deadlines.imagePullSeconds", number},
    {"deadlines.validationSeconds", number},
    {"deadlines.containerRestarts", number},
};

constexpr KeptField driver[] = {
    {"enabled", number},
    {"driverType", word},
    {"version", plain},
    {"image", plain},
    {"repository", plain},
    {"usePrecompiled", number},
    {"useNvidiaDriverCRD", number},
    {"kernelModuleType", word},
    {"imagePullPolicy", word},
    {"rdma.enabled", number},
    {"rdma.useHostMofed", number},
    {"gds.enabled", number},
    {"manager.image", plain},
    {"manager.repository", plain},
    {"manager.version", plain},
    {"manager.env[].name", word},
    {"env[].name", word},
    {"args", options},
    {"nodeSelector", labels},
};

constexpr KeptField cluster_policy[] = {
    {"spec.daemonsets.updateStrategy", word},
    {"spec.daemonsets.rollingUpdate.maxUnavailable", scalar},
    {"spec.operator.defaultRuntime", word},
    {"spec.toolkit.enabled", number},
    {"spec.toolkit.version", plain},
    {"spec.devicePlugin.enabled", number},
    {"spec.devicePlugin.version", plain},
    {"spec.dcgm.enabled", number},
    {"spec.dcgm.version", plain},
    {"spec.dcgmExporter.enabled", number},
    {"spec.dcgmExporter.version", plain},
    {"spec.gfd.enabled", number},
    {"spec.gfd.version", plain},
    {"spec.migManager.enabled", number},
    {"spec.mig.strategy", word},
    {"spec.cdi.enabled", number},
    {"spec.validator.version", plain},
    {"status.state", word},
    {"status.namespace", name},
};

constexpr KeptField driver_status[] = {{"status.state", word}};

constexpr KeptField rollout[] = {
    {"spec.driver.kind", word},
    {"spec.driver.name", name},
    {"spec.matrix.repo", text},
    {"spec.matrix.branch", plain},
    {"spec.matrix.path", plain},
    {"spec.waves[].name", name},
    {"spec.waves[].nodes.matchLabels", labels},
    {"spec.waves[].nodes.matchExpressions[].key", word},
    {"spec.waves[].nodes.matchExpressions[].operator", word},
    {"spec.waves[].nodes.count", number},
    {"spec.waves[].nodes.percent", number},
    {"spec.waves[].nodes.rest", number},
    {"spec.waves[].stratify[]", word},
    {"spec.waves[].spreadBy", word},
    {"spec.waves[].maxParallelUpgrades", number},
    {"spec.waves[].gates[]", word},
    {"spec.waves[].gates[].name", word},
    {"spec.waves[].bake.duration", word},
    {"spec.waves[].bake.maxDuration", word},
    {"spec.waves[].bake.minGpuHours", number},
    {"spec.waves[].bake.alpha", number},
    {"spec.waves[].bake.speedMargin", number},
    {"spec.waves[].approval", word},
    {"spec.groups.by", word},
    {"spec.windows[].days[]", word},
    {"spec.windows[].from", plain},
    {"spec.windows[].to", plain},
    {"spec.windows[].timeZone", word},
    {"spec.onFailure", word},
    {"spec.outsideWave", word},
    {"spec.paused", number},
    {"status.phase", word},
    {"status.wave", name},
    {"status.progress", text},
    {"status.reason", word},
    {"status.message", text},
    {"status.waves[].name", name},
    {"status.waves[].opened", plain},
    {"status.rejected[].version", plain},
    {"status.rejected[].at", plain},
    {"status.rejected[].reason", text},
};

constexpr KeptField budget[] = {
    {"spec.minAvailable", scalar},
    {"spec.maxUnavailable", scalar},
    {"spec.unhealthyPodEvictionPolicy", word},
    {"spec.selector.matchLabels", labels},
    {"status.currentHealthy", number},
    {"status.desiredHealthy", number},
    {"status.disruptionsAllowed", number},
    {"status.expectedPods", number},
    {"status.observedGeneration", number},
};

constexpr KeptField claim[] = {
    {"spec.devices.requests[].name", name},
    {"spec.devices.requests[].deviceClassName", name},
    {"spec.devices.requests[].count", number},
    {"spec.devices.requests[].allocationMode", word},
    {"spec.devices.requests[].exactly.deviceClassName", name},
    {"spec.devices.requests[].exactly.count", number},
    {"spec.devices.requests[].exactly.allocationMode", word},
    {"status.allocation.devices.results[].request", word},
    {"status.allocation.devices.results[].driver", name},
    {"status.allocation.devices.results[].pool", name},
    {"status.allocation.devices.results[].device", name},
    {"status.reservedFor[].resource", word},
    {"status.reservedFor[].name", name},
    {"status.reservedFor[].uid", uuid},
    {"status.devices[].driver", name},
    {"status.devices[].pool", name},
    {"status.devices[].device", name},
};

constexpr KeptField slice[] = {
    {"spec.driver", name},
    {"spec.nodeName", name},
    {"spec.allNodes", number},
    {"spec.pool.name", name},
    {"spec.pool.generation", number},
    {"spec.pool.resourceSliceCount", number},
};

constexpr KeptField device[] = {
    {"name", name},
    {"taints[].key", word},
    {"taints[].effect", word},
    {"taints[].timeAdded", plain},
    {"attributes.driverVersion.version", plain},
    {"attributes.cudaDriverVersion.version", plain},
    {"attributes.productName.string", plain},
    {"attributes.brand.string", plain},
    {"attributes.architecture.string", plain},
    {"attributes.type.string", word},
    {"attributes.uuid.string", plain},
    {"attributes.index.int", number},
};

constexpr KeptField daemon_set[] = {
    {"spec.updateStrategy.type", word},
    {"spec.updateStrategy.rollingUpdate.maxUnavailable", scalar},
    {"spec.updateStrategy.rollingUpdate.maxSurge", scalar},
    {"spec.minReadySeconds", number},
    {"spec.revisionHistoryLimit", number},
    {"spec.selector.matchLabels", labels},
    {"status.currentNumberScheduled", number},
    {"status.desiredNumberScheduled", number},
    {"status.numberAvailable", number},
    {"status.numberMisscheduled", number},
    {"status.numberReady", number},
    {"status.numberUnavailable", number},
    {"status.updatedNumberScheduled", number},
    {"status.observedGeneration", number},
};

constexpr KeptField deployment[] = {
    {"spec.replicas", number},
    {"spec.paused", number},
    {"spec.strategy.type", word},
    {"spec.selector.matchLabels", labels},
    {"status.replicas", number},
    {"status.readyReplicas", number},
    {"status.availableReplicas", number},
    {"status.unavailableReplicas", number},
    {"status.updatedReplicas", number},
    {"status.observedGeneration", number},
};

constexpr KeptField job[] = {
    {"spec.parallelism", number},
    {"spec.completions", number},
    {"spec.backoffLimit", number},
    {"spec.activeDeadlineSeconds", number},
    {"spec.ttlSecondsAfterFinished", number},
    {"spec.suspend", number},
    {"status.active", number},
    {"status.succeeded", number},
    {"status.failed", number},
    {"status.ready", number},
    {"status.startTime", plain},
    {"status.completionTime", plain},
};

constexpr KeptField event[] = {
    {"reason", word},
    {"message", text},
    {"type", word},
    {"action", word},
    {"count", number},
    {"eventTime", plain},
    {"firstTimestamp", plain},
    {"lastTimestamp", plain},
    {"reportingComponent", word},
    {"reportingInstance", name},
    {"source.component", word},
    {"source.host", name},
    {"series.count", number},
    {"series.lastObservedTime", plain},
    {"involvedObject.apiVersion", word},
    {"involvedObject.kind", word},
    {"involvedObject.namespace", name},
    {"involvedObject.name", name},
    {"involvedObject.uid", uuid},
};

constexpr KeptField lease[] = {
    {"spec.holderIdentity", text},     {"spec.leaseDurationSeconds", number},
    {"spec.leaseTransitions", number}, {"spec.acquireTime", plain},
    {"spec.renewTime", plain},
};

constexpr KeptField revision[] = {{"revision", number}};
constexpr KeptField config_map[] = {{"data", settings}};

constexpr KeptPart with_template[] = {
    {"spec.template.", template_metadata},
    {"spec.template.spec.", pod_spec},
    {"spec.template.spec.containers[].", container},
    {"spec.template.spec.initContainers[].", container},
};

using Parts = std::vector<KeptPart>;

Parts parts_of(std::span<const KeptField> own, Parts others = {}, bool has_template = false) {
  Parts parts = {{"", metadata}, {"", own}, {"status.", conditions}};
  parts.insert(parts.end(), others.begin(), others.end());
  if (has_template) parts.insert(parts.end(), std::begin(with_template), std::end(with_template));
  return parts;
}

using Table = std::map<std::string_view, Parts>;

const Table& table() {
  static const Table made = {
      {"nodes", parts_of(node)},
      {"pods", parts_of(pod_status, {{"spec.", pod_spec},
                                     {"spec.containers[].", container},
                                     {"spec.initContainers[].", container},
                                     {"status.containerStatuses[].", container_status},
                                     {"status.initContainerStatuses[].", container_status}})},
      {"daemonsets.apps", parts_of(daemon_set, {}, true)},
      {"deployments.apps", parts_of(deployment, {}, true)},
      {"jobs.batch", parts_of(job, {}, true)},
      {"controllerrevisions.apps",
       parts_of(revision, {{"data.spec.template.", template_metadata},
                           {"data.spec.template.spec.", pod_spec},
                           {"data.spec.template.spec.containers[].", container},
                           {"data.spec.template.spec.initContainers[].", container}})},
      {"events", parts_of(event)},
      {"configmaps", parts_of(config_map)},
      {"leases.coordination.k8s.io", parts_of(lease)},
      {"poddisruptionbudgets.policy", parts_of(budget)},
      {"resourceclaims.resource.k8s.io", parts_of(claim, {{"status.devices[].", conditions}})},
      {"resourceslices.resource.k8s.io",
       parts_of(slice, {{"spec.devices[].", device}, {"spec.devices[].basic.", device}})},
      {"clusterpolicies.nvidia.com",
       parts_of(cluster_policy,
                {{"spec.driver.", driver}, {"spec.driver.upgradePolicy.", upgrade_policy}})},
      {"nvidiadrivers.nvidia.com",
       parts_of(driver_status, {{"spec.", driver}, {"spec.upgradePolicy.", upgrade_policy}})},
      {"driverrollouts.lockstep.dev", parts_of(rollout, {{"spec.policy.", upgrade_policy}})},
  };
  return made;
}

}  // namespace

std::span<const KeptPart> kept_parts(std::string_view resource) {
  const auto found = table().find(resource);
  if (found == table().end()) return {};
  return found->second;
}

std::span<const std::string_view> kept_resources() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const auto& [resource, parts] : table()) list.push_back(resource);
    return list;
  }();
  return names;
}

bool is_kept_label(std::string_view key) {
  constexpr std::array<std::string_view, 16> keys = {"app",
                                                     "k8s-app",
                                                     "component",
                                                     "controller-revision-hash",
                                                     "pod-template-hash",
                                                     "pod-template-generation",
                                                     "kubernetes.io/hostname",
                                                     "kubernetes.io/os",
                                                     "kubernetes.io/arch",
                                                     "kubernetes.io/metadata.name",
                                                     "batch.kubernetes.io/job-name",
                                                     "eks.amazonaws.com/nodegroup",
                                                     "cloud.google.com/gke-nodepool",
                                                     "cloud.google.com/gke-accelerator",
                                                     "kubernetes.azure.com/agentpool",
                                                     "karpenter.sh/nodepool"};
  constexpr std::array<std::string_view, 7> domains = {"topology.kubernetes.io",
                                                       "node-role.kubernetes.io",
                                                       "node.kubernetes.io",
                                                       "app.kubernetes.io",
                                                       "helm.sh",
                                                       "feature.node.kubernetes.io",
                                                       "failure-domain.beta.kubernetes.io"};
  if (std::find(keys.begin(), keys.end(), key) != keys.end()) return true;
  const size_t slash = key.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view domain = key.substr(0, slash);
  return std::find(domains.begin(), domains.end(), domain) != domains.end() ||
         domain == "nvidia.com" || domain.ends_with(".nvidia.com") || domain == "lockstep.dev" ||
         domain.ends_with(".lockstep.dev");
}

}  // namespace lockstep::doctor
