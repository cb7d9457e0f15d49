// A fleet that behaves, in virtual time: the embedded API, nodes with a driver and a validator, and
// a DaemonSet controller that recreates pods. A small version of the simulator.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "apiserver/verbs/backend.h"
#include "apiserver/verbs/housekeeping.h"
#include "apiserver/verbs/in_process_api.h"
#include "fleet/reason_test_util.h"
#include "kube/counting_api.h"
#include "kube/fault_api.h"
#include "view/fleet_objects_test_util.h"
#include "world/virtual_loop.h"

namespace lockstep::view {

struct FleetSetup {
  uint64_t seed = 1;
  int nodes = 3;
  std::string policy = R"({"autoUpgrade":true,"maxUnavailable":"100%"})";
  bool definitions = true;  // the operator's CRDs
};

class TestFleet {
 public:
  explicit TestFleet(FleetSetup setup = {})
      : loop(setup.seed),
        random(setup.seed + 1000),
        backend(loop, random, options()),
        housekeeping(backend) {
    housekeeping.make_namespaces();
    for (std::string_view ns : {operator_ns, plugin_ns, std::string_view("lockstep-system"),
                                std::string_view("lockstep-gates")}) {
      must(kube::create(resource::namespaces, "",
                        json_of(fmt::format(R"({{"apiVersion":"v1","kind":"Namespace",
                                                 "metadata":{{"name":"{}"}}}})",
                                            ns))));
    }
    if (setup.definitions) {
      define(cluster_policies);
      define(nvidia_drivers);
      must(kube::create(cluster_policies, "", cluster_policy_json(setup.policy)));
    }
    driver_uid = create_set(driver_set);
    validator_uid = create_set(validator_set);
    set_revision("r1", 1);
    for (int i = 1; i <= setup.nodes; ++i) add_node(fmt::format("gpu-{}", i));
    listener_ = backend.store.add_listener(
        [this](const std::string& storage, const apiserver::Change& change) {
          if (storage == "pods") on_pod(change);
        });
  }
  ~TestFleet() { backend.store.remove_listener(listener_); }
  TestFleet(const TestFleet&) = delete;
  TestFleet& operator=(const TestFleet&) = delete;

  void add_node(const std::string& name) {
    must(kube::create(resource::nodes, "", node_json(name)));
    kube::Request status =
        kube::patch(resource::nodes, {"", name}, kube::PatchType::merge, node_json(name));
    status.subresource = "status";
    must(status);
    create_pod(driver_set, name);
    create_pod(validator_set, name);
  }
  // The driver's DaemonSet changes: all driver pods have an older revision from now on.
  // Every node waits before one of them starts: which one is first does not depend on when each was
  // noticed.
  void set_revision_while_paused(const std::string& hash, int64_t number) {
    auto pause = [this](Json since) {
      must(kube::patch(
          cluster_policies, {"", "cluster-policy"}, kube::PatchType::merge,
          JsonObject{{"metadata", JsonObject{{"annotations", JsonObject{{"lockstep.dev/paused",
                                                                         std::move(since)}}}}}}));
    };
    pause("2026-01-01T00:00:00Z by a test");
    loop.run_for(seconds(5));
    set_revision(hash, number);
    EXPECT_TRUE(run_until([&] { return all_are("upgrade-required"); }, minutes(1)));
    pause(nullptr);
  }
  void set_revision(const std::string& hash, int64_t number) {
    revision = hash;
    must(kube::create(resource::controller_revisions, std::string(operator_ns),
                      revision_json(driver_set, driver_uid, hash, number)));
  }
  void set_policy(std::string_view upgrade_policy) {
    must(kube::patch(cluster_policies, {"", "cluster-policy"}, kube::PatchType::merge,
                     cluster_policy_json(upgrade_policy)));
  }
  void patch_node(const std::string& name, std::string_view patch) {
    must(kube::patch(resource::nodes, {"", name}, kube::PatchType::merge, json_of(patch)));
  }
  // A pod with a GPU and a controller; its ReplicaSet does not exist and so must not be owned by
  // uid.
  void add_work(const std::string& name, const std::string& node) {
    Json pod = gpu_pod_json(name, node);
    pod.as_object()["metadata"].as_object()["ownerReferences"] =
        JsonArray{owner_json(driver_set, driver_uid, "ReplicaSet")};
    must(kube::create(resource::pods, "default", std::move(pod)));
    set_status({"default", name});
  }
  void add_budget(const std::string& name, int min_available) {
    must(
        kube::create(resource::pod_disruption_budgets, "default",
                     json_of(fmt::format(R"({{"apiVersion":"policy/v1","kind":"PodDisruptionBudget",
                                 "metadata":{{"name":"{}"}},
                                 "spec":{{"minAvailable":{},
                                          "selector":{{"matchLabels":{{"app":"work"}}}}}}}})",
                                         name, min_available))));
  }

  Json must(const kube::Request& request) {
    auto document = kube::document_of(send(request));
    EXPECT_TRUE(document) << request.describe() << ": "
                          << (document ? "" : document.error().text());
    return document ? **document : Json(JsonObject{});
  }
  kube::Response send(const kube::Request& request) {
    return apiserver::response_of(apiserver::handle(backend, request, {"tester", {}, "test"}));
  }
  bool exists(const ResourceType& type, const ObjectKey& key) {
    return send(kube::get(type, key)).ok();
  }
  std::vector<Document> list(const ResourceType& type, const std::string& ns = {}) {
    auto answer = send(kube::list(type, ns));
    return std::get<kube::ListBody>(answer.body).items;
  }
  std::string state(const std::string& node) {
    Json object = must(kube::get(resource::nodes, {"", node}));
    const Json* labels = find(object, "metadata", "labels");
    return std::string(as_text(find(*labels, fleet::Keys().state)));
  }
  bool unschedulable(const std::string& node) {
    return as_bool(find(must(kube::get(resource::nodes, {"", node})), "spec", "unschedulable"));
  }
  bool all_are(std::string_view wanted) {
    for (const auto& node : list(resource::nodes)) {
      if (state(std::string(text_at(*node, "metadata", "name"))) != wanted) return false;
    }
    return true;
  }
  // Every node runs the newest driver and is done.
  bool upgraded() {
    if (!all_are("upgrade-done")) return false;
    for (const auto& pod : list(resource::pods, std::string(operator_ns))) {
      if (text_at(*pod, "metadata", "labels", "app") != driver_set) continue;
      const Json* labels = find(*pod, "metadata", "labels");
      if (as_text(find(*labels, fleet::revision_label)) != revision) return false;
    }
    return true;
  }
  // Checks once a second: after every event would cost more than the events.
  bool run_until(const std::function<bool()>& done, Duration limit) {
    Duration end = loop.uptime() + limit;
    while (!done()) {
      if (loop.uptime() >= end) return false;
      loop.run_for(seconds(1));
    }
    return true;
  }

  VirtualLoop loop;
  SeededRandom random;
  apiserver::Backend backend;
  apiserver::Housekeeping housekeeping;
  std::string driver_uid;
  std::string validator_uid;
  std::string revision;
  Duration restart_time = seconds(3);

 private:
  static apiserver::Options options() {
    apiserver::Options options;
    options.managed_fields = false;
    options.reap_pods = true;
    return options;
  }
  void define(const ResourceType& type) {
    must(kube::create(
        resource::custom_resource_definitions, "",
        json_of(fmt::format(
            R"({{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
                 "metadata":{{"name":"{0}"}},
                 "spec":{{"group":"{1}","scope":"Cluster",
                   "names":{{"kind":"{2}","listKind":"{2}List","plural":"{3}"}},
                   "versions":[{{"name":"{4}","served":true,"storage":true,"schema":{{
                     "openAPIV3Schema":{{"type":"object",
                       "x-kubernetes-preserve-unknown-fields":true}}}}}}]}}}})",
            type.full_name(), type.group, type.kind, type.plural, type.version))));
  }
  std::string create_set(std::string_view name) {
    Json set = must(kube::create(resource::daemon_sets, std::string(operator_ns),
                                 daemon_set_json(operator_ns, name)));
    return std::string(text_at(set, "metadata", "uid"));
  }
  void create_pod(std::string_view set, const std::string& node) {
    std::string name = fmt::format("{}-{}", set, next_pod_++);
    bool driver = set == driver_set;
    must(kube::create(resource::pods, std::string(operator_ns),
                      daemon_pod_json(operator_ns, set, driver ? driver_uid : validator_uid, name,
                                      node, driver ? revision : "v1")));
    set_status({std::string(operator_ns), name});
  }
  void set_status(const ObjectKey& key) {
    kube::Request status =
        kube::patch(resource::pods, key, kube::PatchType::merge, ready_status(loop.now()));
    status.subresource = "status";
    must(status);
  }
  void on_pod(const apiserver::Change& change) {
    if (change.type != kube::WatchEventType::deleted) return;
    const Json& pod = change.object->json();
    std::string set(text_at(pod, "metadata", "labels", "app"));
    std::string node(text_at(pod, "spec", "nodeName"));
    if (text_at(pod, "metadata", "namespace") != operator_ns) return;
    if (set != driver_set && set != validator_set) return;
    loop.after(restart_time, scope_.bind([this, set, node] {
      if (exists(resource::nodes, {"", node})) create_pod(set, node);
    }));
  }

  uint64_t listener_ = 0;
  int next_pod_ = 1;
  Scope scope_;
};

// A process's own connection to the API, on which things can go wrong.
class TestApi {
 public:
  TestApi(TestFleet& fleet, const std::string& name)
      : inner_(fleet.backend, {name, {}, name}),
        weather_({}, fault_random_),
        faults(&weather_),
        fault_api_(inner_, fleet.loop, faults),
        api(fault_api_, fleet.loop) {}
  kube::FaultWeights& weather() { return weather_.weights; }
  void drop_watches() { fault_api_.drop_watches(); }
  void begin_outage() { fault_api_.begin_outage(); }
  void end_outage() { fault_api_.end_outage(); }

 private:
  apiserver::InProcessApi inner_;
  SeededRandom fault_random_{11};
  kube::RandomFaults weather_;

 public:
  kube::ScriptedFaults faults;

 private:
  kube::FaultApi fault_api_;

 public:
  kube::CountingApi api;
};

}  // namespace lockstep::view
