// One GPU node on the embedded API in virtual time: an operand and the driver under DaemonSets that
// follow the node's labels, work on it, and a machine in memory under it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "apiserver/verbs/backend.h"
#include "apiserver/verbs/housekeeping.h"
#include "apiserver/verbs/in_process_api.h"
#include "apiserver/verbs/tester_test_util.h"
#include "data/json.h"
#include "kube/fault_api.h"
#include "node/driver_manager.h"
#include "node/manager_test_util.h"
#include "world/virtual_loop.h"

namespace lockstep::node {

struct WorkWish {
  std::string claim{};  // the name of a ResourceClaim instead of a GPU by the device plugin
  std::string owner = "ReplicaSet";
  bool gpu = true;
  int64_t grace = 1;
};

inline kube::CallPlan plan_of(kube::Fault fault) {
  kube::CallPlan plan;
  plan.fault = fault;
  return plan;
}

class ManagerScene {
 public:
  explicit ManagerScene(uint64_t seed = 1)
      : loop(seed),
        random(seed + 1000),
        backend(loop, random, options()),
        housekeeping(backend),
        inner_(backend, {"manager", {}, "manager"}),
        fault_api(inner_, loop, faults) {
    housekeeping.make_namespaces();
    for (const char* ns : {"gpu-operator", "nvidia-dra-driver"}) {
      must(kube::create(resource::namespaces, "",
                        json_of(fmt::format(R"({{"metadata":{{"name":"{}"}}}})", ns))));
    }
    must(kube::create(resource::nodes, "", json_of(R"({"metadata":{"name":"gpu-1","labels":{
        "nvidia.com/gpu.deploy.driver":"true","nvidia.com/gpu.deploy.device-plugin":"true",
        "nvidia.com/gpu.deploy.dcgm":"false"}}})")));
    listener_ =
        backend.store.add_listener([this](const std::string& storage, const apiserver::Change&) {
          if (storage == "nodes" || storage == "pods") follow_labels();
        });
    add_daemon_set("gpu-operator", "driver", std::string(driver_label));
    add_daemon_set("gpu-operator", "device-plugin", std::string(device_plugin_label));
    loop.run_for(seconds(5));
    host.view = loaded_driver();
    settings.node = "gpu-1";
    settings.digest = "new";
    settings.clients.named = {"nvidia-dra-driver/plugin"};
  }
  ~ManagerScene() { backend.store.remove_listener(listener_); }
  ManagerScene(const ManagerScene&) = delete;
  ManagerScene& operator=(const ManagerScene&) = delete;

  // A DaemonSet with a pod on the node as long as its label is true; without a label: always.
  void add_daemon_set(const std::string& ns, const std::string& name,
                      const std::string& label = {}) {
    Json set = must(kube::create(
        resource::daemon_sets, ns,
        json_of(fmt::format(
            R"({{"metadata":{{"name":"{0}"}},"spec":{{"selector":{{"matchLabels":{{"app":"{0}"}}}},
             "template":{{"metadata":{{"labels":{{"app":"{0}"}}}},
               "spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}}}}})",
            name))));
    sets_.push_back({ns, name, std::string(text_at(set, "metadata", "uid")), label, 0});
    follow_labels();
  }
  void add_claim(const std::string& name, const std::string& driver) {
    must(kube::create(resource::resource_claims, "default",
                      json_of(fmt::format(
                          R"({{"metadata":{{"name":"{0}"}},"spec":{{"devices":{{"requests":[
             {{"name":"r","exactly":{{"deviceClassName":"c"}}}}]}}}}}})",
                          name))));
    kube::Request status =
        kube::patch(resource::resource_claims, {"default", name}, kube::PatchType::merge,
                    json_of(fmt::format(R"({{"status":{{"allocation":{{"devices":{{"results":[
            {{"request":"r","driver":"{}","pool":"p","device":"d"}}]}}}}}}}})",
                                        driver)));
    status.subresource = "status";
    must(status);
  }
  void add_work(const std::string& name, const WorkWish& wish = {}) {
    Json pod = json_of(fmt::format(
        R"({{"metadata":{{"name":"{0}","labels":{{"app":"work"}}}},
             "spec":{{"nodeName":"gpu-1","terminationGracePeriodSeconds":{1},
                      "containers":[{{"name":"c","image":"i"}}]}}}})",
        name, wish.grace));
    Json& spec = pod.as_object()["spec"];
    if (!wish.claim.empty()) {
      spec.as_object()["resourceClaims"] =
          JsonArray{JsonObject{{"name", "gpu"}, {"resourceClaimName", wish.claim}}};
    } else if (wish.gpu) {
      spec.as_object()["containers"].as_array()[0].as_object()["resources"] =
          json_of(R"({"limits":{"nvidia.com/gpu":"1"},"requests":{"nvidia.com/gpu":"1"}})");
    }
    if (!wish.owner.empty()) own(pod, wish.owner, "driver", sets_.front().uid);
    must(kube::create(resource::pods, "default", std::move(pod)));
    set_running({"default", name});
  }
  void add_budget(int min_available) {
    must(kube::create(resource::pod_disruption_budgets, "default",
                      json_of(fmt::format(
                          R"({{"metadata":{{"name":"budget"}},"spec":{{"minAvailable":{},
             "selector":{{"matchLabels":{{"app":"work"}}}}}}}})",
                          min_available))));
    loop.run_for(seconds(2));
  }
  void patch_node(std::string_view patch) {
    must(kube::patch(resource::nodes, {"", "gpu-1"}, kube::PatchType::merge, json_of(patch)));
  }
  bool has_pod(const std::string& ns, const std::string& name) {
    return send(kube::get(resource::pods, {ns, name})).ok();
  }
  std::string label(std::string_view key) {
    Json node = must(kube::get(resource::nodes, {"", "gpu-1"}));
    return std::string(as_text(find(*find(node, "metadata", "labels"), key)));
  }
  bool unschedulable() {
    return as_bool(find(must(kube::get(resource::nodes, {"", "gpu-1"})), "spec", "unschedulable"));
  }
  bool has_annotation(std::string_view key) {
    Json node = must(kube::get(resource::nodes, {"", "gpu-1"}));
    const Json* annotations = find(node, "metadata", "annotations");
    return annotations != nullptr && find(*annotations, key) != nullptr;
  }
  // The node as it was at the beginning.
  ::testing::AssertionResult is_put_back() {
    for (const auto& key : {device_plugin_label, driver_label}) {
      if (label(key) != "true") {
        return ::testing::AssertionFailure() << key << " is " << label(key);
      }
    }
    if (label("nvidia.com/gpu.deploy.dcgm") != "false") {
      return ::testing::AssertionFailure() << "what was switched off is not any more";
    }
    if (label(dra_driver_label) == paused_value) {
      return ::testing::AssertionFailure() << "the plugin is still paused";
    }
    if (has_annotation(manager_cordon_annotation) || unschedulable()) {
      return ::testing::AssertionFailure() << "it is still cordoned";
    }
    return ::testing::AssertionSuccess();
  }

  void begin() {
    manager.reset();
    manager = std::make_unique<DriverManager>(fault_api, loop, random, log, host, settings);
    manager->start();
  }
  ManagerOutcome finish(Duration limit = hours(2)) {
    EXPECT_TRUE(loop.run_until([&] { return manager->is_finished(); }, limit)) << last_line();
    return manager->outcome().value_or(ManagerOutcome());
  }
  ManagerOutcome run() {
    begin();
    return finish();
  }
  bool said(std::string_view text) const {
    return std::any_of(log.lines.begin(), log.lines.end(), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  }
  std::string last_line() const { return log.lines.empty() ? "" : log.lines.back(); }
  kube::Api& api() { return fault_api; }

  Json must(const kube::Request& request) { return apiserver::must_answer(request, send(request)); }
  kube::Response send(const kube::Request& request) {
    return apiserver::send_as_tester(backend, request);
  }
  static Json json_of(std::string_view text) { return apiserver::json_of(text); }

  VirtualLoop loop;
  SeededRandom random;
  apiserver::Backend backend;
  apiserver::Housekeeping housekeeping;
  kube::ScriptedFaults faults;

 private:
  struct Set {
    std::string ns;
    std::string name;
    std::string uid;
    std::string label;
    int made = 0;
  };
  static apiserver::Options options() {
    apiserver::Options options;
    options.managed_fields = false;
    options.reap_pods = true;
    return options;
  }
  static void own(Json& pod, std::string_view kind, std::string_view name, std::string_view uid) {
    pod.as_object()["metadata"].as_object()["ownerReferences"] =
        JsonArray{JsonObject{{"apiVersion", "apps/v1"},
                             {"kind", kind},
                             {"name", name},
                             {"uid", uid},
                             {"controller", true}}};
  }
  void set_running(const ObjectKey& key) {
    kube::Request status = kube::patch(resource::pods, key, kube::PatchType::merge,
                                       json_of(R"({"status":{"phase":"Running",
                        "conditions":[{"type":"Ready","status":"True"}]}})"));
    status.subresource = "status";
    must(status);
  }
  // What the DaemonSet controller does, a second later.
  void follow_labels() {
    if (following_) return;
    following_ = true;
    loop.after(seconds(1), scope_.bind([this] {
      following_ = false;
      for (Set& set : sets_) follow(set);
    }));
  }
  void follow(Set& set) {
    bool wanted = set.label.empty() || label(set.label) == "true";
    std::string name = fmt::format("{}-{}", set.name, set.made);
    bool is_there = set.made > 0 && has_pod(set.ns, name);
    if (is_there && !wanted && !stubborn) {
      // Once is enough.
      if (find(must(kube::get(resource::pods, {set.ns, name})), "metadata", "deletionTimestamp") ==
          nullptr) {
        must(kube::remove(resource::pods, {set.ns, name}));
      }
    }
    if (is_there || !wanted) return;
    ++set.made;
    Json pod = json_of(fmt::format(
        R"({{"metadata":{{"name":"{}-{}"}},"spec":{{"nodeName":"gpu-1",
             "terminationGracePeriodSeconds":2,"containers":[{{"name":"c","image":"i"}}]}}}})",
        set.name, set.made));
    if (!set.label.empty()) {
      pod.as_object()["spec"].as_object()["nodeSelector"] = JsonObject{{set.label, "true"}};
    }
    own(pod, "DaemonSet", set.name, set.uid);
    must(kube::create(resource::pods, set.ns, std::move(pod)));
    set_running({set.ns, fmt::format("{}-{}", set.name, set.made)});
  }

  apiserver::InProcessApi inner_;
  uint64_t listener_ = 0;
  std::vector<Set> sets_;
  bool following_ = false;

 public:
  kube::FaultApi fault_api;
  FakeHost host;
  MemoryLog log;
  ManagerSettings settings;
  bool stubborn = false;  // pods that are not wanted stay
  std::unique_ptr<DriverManager> manager;

 private:
  Scope scope_;
};

}  // namespace lockstep::node
