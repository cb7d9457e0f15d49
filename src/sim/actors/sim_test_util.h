// A small fleet for tests, and short ways to read its state.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fleet/reason_test_util.h"
#include "objects/decode.h"
#include "sim/actors/cluster.h"
#include "sim/actors/versions.h"

namespace lockstep::sim {

inline ClusterOptions fleet_of(int nodes, uint64_t seed = 1) {
  ClusterOptions options;
  options.seed = seed;
  options.simulated.fleet.nodes = nodes;
  return options;
}

// Checks once a second of virtual time: after every event would cost more than the events.
inline bool run_until(Cluster& cluster, const std::function<bool()>& done, Duration limit) {
  Duration end = cluster.loop.uptime() + limit;
  while (!done()) {
    if (cluster.loop.uptime() >= end) return false;
    cluster.loop.run_for(seconds(1));
  }
  return true;
}

inline ObjectKey key_of(const Json& object) {
  return {std::string(text_at(object, "metadata", "namespace")),
          std::string(text_at(object, "metadata", "name"))};
}

inline Pod typed_pod(const Json& document) {
  DecodeContext context;
  auto pod = decode_object<Pod>(document, context);
  EXPECT_TRUE(pod) << (pod ? "" : pod.error().text());
  return pod ? *pod : Pod();
}

inline std::vector<Pod> pods_in(Cluster& cluster, const std::string& ns,
                                std::string_view app = {}) {
  std::vector<Pod> pods;
  for (const Document& document : cluster.list(resource::pods, ns)) {
    if (!app.empty() && text_at(*document, "metadata", "labels", "app") != app) continue;
    pods.push_back(typed_pod(*document));
  }
  return pods;
}

// The one pod of a DaemonSet on a node; an empty one if it has no pod or several.
inline Pod pod_of(Cluster& cluster, std::string_view daemon_set, const std::string& node) {
  auto pods = cluster.pods_of(daemon_set, node);
  return pods.size() == 1 ? typed_pod(*pods[0]) : Pod();
}

inline bool delete_pod_of(Cluster& cluster, std::string_view daemon_set, const std::string& node) {
  Pod pod = pod_of(cluster, daemon_set, node);
  return !pod.meta.name.empty() && cluster.call(kube::remove(resource::pods, pod.meta.key()));
}

inline bool has_driver(Cluster& cluster, const std::string& node, std::string_view version) {
  const Machine& machine = cluster.kubelets().machine(node);
  return machine.loaded() && machine.version() == version &&
         pod_of(cluster, driver_daemon_set_name, node).ready;
}

inline void cordon(Cluster& cluster, const std::string& node, bool cordoned = true) {
  EXPECT_TRUE(cluster.call(merge_patch(
      resource::nodes, {"", node},
      JsonObject{{"spec", JsonObject{{"unschedulable", cordoned ? Json(true) : Json()}}}})));
}

// A GPU pod that is bound to a node already.
inline void add_gpu_pod(Cluster& cluster, const std::string& name, const std::string& node,
                        JsonObject annotations = {}, int64_t grace_seconds = 30) {
  JsonObject container{{"name", "main"},
                       {"image", "registry.example/work:1"},
                       {"resources", JsonObject{{"limits", JsonObject{{"nvidia.com/gpu", "1"}}}}}};
  JsonObject metadata{{"name", name}, {"annotations", std::move(annotations)}};
  auto created = cluster.call(kube::create(
      resource::pods, "ml-training",
      JsonObject{{"apiVersion", "v1"},
                 {"kind", "Pod"},
                 {"metadata", std::move(metadata)},
                 {"spec", JsonObject{{"nodeName", node},
                                     {"terminationGracePeriodSeconds", grace_seconds},
                                     {"containers", JsonArray{std::move(container)}}}}}));
  EXPECT_TRUE(created) << (created ? "" : created.error().text());
}

inline Pod work_pod(Cluster& cluster, const std::string& name) {
  Document document = cluster.get(resource::pods, {"ml-training", name});
  return document ? typed_pod(*document) : Pod();
}

}  // namespace lockstep::sim
