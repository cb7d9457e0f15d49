// The objects of a small GPU fleet as JSON, for tests of what watches and steers it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/time.h"
#include "data/json.h"
#include "data/patch.h"
#include "view/fleet_watch.h"

namespace lockstep::view {

using fleet::cluster_policies;
using fleet::nvidia_drivers;

inline constexpr std::string_view operator_ns = "gpu-operator";
inline constexpr std::string_view driver_set = "nvidia-driver-daemonset";
inline constexpr std::string_view validator_set = "nvidia-operator-validator";
inline constexpr std::string_view plugin_set = "nvidia-dra-driver-gpu-kubelet-plugin";
inline constexpr std::string_view plugin_ns = "nvidia-dra-driver";

inline Json json_of(std::string_view text) {
  auto parsed = parse_json(text);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().text()) << "\n" << text;
  return parsed ? *parsed : Json();
}
// `object` with `patch` merged into it.
inline Json merged(Json object, std::string_view patch) {
  apply_merge_patch(object, json_of(patch));
  return object;
}

inline Json node_json(std::string_view name) {
  return json_of(fmt::format(
      R"({{"apiVersion":"v1","kind":"Node",
           "metadata":{{"name":"{}","labels":{{"nvidia.com/gpu.deploy.driver":"true"}}}},
           "status":{{"conditions":[{{"type":"Ready","status":"True"}}]}}}})",
      name));
}

inline Json daemon_set_json(
    std::string_view ns, std::string_view name,
    std::string_view selector = R"({"nvidia.com/gpu.deploy.driver":"true"})",
    std::string_view image = "nvcr.io/nvidia/driver:580.126.20-ubuntu24.04") {
  return json_of(fmt::format(
      R"({{"apiVersion":"apps/v1","kind":"DaemonSet",
           "metadata":{{"name":"{1}","namespace":"{0}","labels":{{"app":"{1}"}}}},
           "spec":{{"selector":{{"matchLabels":{{"app":"{1}"}}}},
                    "updateStrategy":{{"type":"OnDelete"}},
                    "template":{{"metadata":{{"labels":{{"app":"{1}"}}}},
                      "spec":{{"nodeSelector":{2},"containers":[{{"name":"main","image":"{3}"}}]}}}}}}}})",
      ns, name, selector, image));
}

inline JsonObject owner_json(std::string_view set, std::string_view uid,
                             std::string_view kind = "DaemonSet") {
  return JsonObject{
      {"apiVersion", "apps/v1"}, {"kind", kind}, {"name", set}, {"uid", uid}, {"controller", true}};
}

inline Json revision_json(std::string_view set, std::string_view set_uid, std::string_view hash,
                          int64_t number) {
  Json revision = json_of(fmt::format(
      R"({{"apiVersion":"apps/v1","kind":"ControllerRevision",
           "metadata":{{"name":"{0}-{2}","namespace":"{1}",
                        "labels":{{"controller-revision-hash":"{2}"}}}},
           "revision":{3},"data":{{"spec":{{}}}}}})",
      set, operator_ns, hash, number));
  revision.as_object()["metadata"].as_object()["ownerReferences"] =
      JsonArray{owner_json(set, set_uid)};
  return revision;
}

// A pod of a DaemonSet, bound; its status comes by ready_status().
inline Json daemon_pod_json(std::string_view ns, std::string_view set, std::string_view set_uid,
                            std::string_view name, std::string_view node,
                            std::string_view revision = {}) {
  Json pod = json_of(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod",
           "metadata":{{"name":"{1}","namespace":"{0}",
                        "labels":{{"app":"{2}","controller-revision-hash":"{3}"}}}},
           "spec":{{"nodeName":"{4}","terminationGracePeriodSeconds":1,"containers":[{{"name":"main",
                    "image":"nvcr.io/nvidia/driver:580.126.20-ubuntu24.04"}}]}}}})",
      ns, name, set, revision, node));
  pod.as_object()["metadata"].as_object()["ownerReferences"] = JsonArray{owner_json(set, set_uid)};
  return pod;
}

// A pod with GPUs that a ReplicaSet would make again.
inline Json gpu_pod_json(std::string_view name, std::string_view node) {
  Json pod = json_of(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod",
           "metadata":{{"name":"{0}","namespace":"default","labels":{{"app":"work"}}}},
           "spec":{{"nodeName":"{1}","terminationGracePeriodSeconds":1,"containers":[{{"name":"main",
             "image":"work:1","resources":{{"limits":{{"nvidia.com/gpu":"1"}},
                                            "requests":{{"nvidia.com/gpu":"1"}}}}}}]}}}})",
      name, node));
  return pod;
}

inline Json ready_status(Time since) {
  std::string time = format_rfc3339(since);
  return json_of(fmt::format(
      R"({{"status":{{"phase":"Running","startTime":"{0}",
           "conditions":[{{"type":"Ready","status":"True","lastTransitionTime":"{0}"}}],
           "containerStatuses":[{{"name":"main","ready":true,"started":true,"restartCount":0,
             "image":"i","imageID":"i","state":{{"running":{{"startedAt":"{0}"}}}}}}]}}}})",
      time));
}

inline Json cluster_policy_json(std::string_view upgrade_policy,
                                std::string_view name = "cluster-policy") {
  return json_of(fmt::format(
      R"({{"apiVersion":"nvidia.com/v1","kind":"ClusterPolicy","metadata":{{"name":"{}"}},
           "spec":{{"driver":{{"upgradePolicy":{}}}}}}})",
      name, upgrade_policy));
}

inline Json nvidia_driver_json(std::string_view name, std::string_view spec) {
  return json_of(fmt::format(
      R"({{"apiVersion":"nvidia.com/v1alpha1","kind":"NVIDIADriver","metadata":{{"name":"{}"}},
           "spec":{}}})",
      name, spec));
}

}  // namespace lockstep::view
