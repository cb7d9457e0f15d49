// Whatever a tenant writes into a namespace of its own, the driver, its validators, its clients and
// NVIDIA's operator are those of the configured namespaces.
#include <gtest/gtest.h>

#include "controller/controller_test_util.h"
#include "view/watched_fleet_test_util.h"

namespace lockstep::controller::driver_namespaces_test {
namespace {

using fleet::State;

constexpr std::string_view tenant = "team-a";
constexpr std::string_view younger = R"({"metadata":{"creationTimestamp":"2099-01-01T00:00:00Z"}})";

const fleet::PodOnNode* find_pod(const fleet::NodeView& view, std::string_view name) {
  for (const auto& entry : view.pods) {
    if (entry.pod->meta.name == name) return &entry;
  }
  return nullptr;
}

// By the same names and, as any tenant can write, the same owner's uid.
void add_lookalikes(WatchedFleet& scene) {
  scene.add_set(tenant, driver_set);
  scene.put(resource::controller_revisions, {std::string(tenant), "later"},
            merged(revision_json(driver_set, fmt::format("uid-{}", driver_set), "r9", 9),
                   R"({"metadata":{"name":"later","namespace":"team-a"}})"));
  scene.add_pod(tenant, driver_set, "alike", "gpu-1", "r0", younger);
}

TEST(DriverNamespaces, ATenantsDaemonSetRevisionAndPodAreNotTheDriver) {
  WatchedFleet scene;
  scene.add_usual();
  scene.add_node("gpu-2");
  scene.add_node("gpu-3", R"({"metadata":{"labels":{"nvidia.com/gpu.deploy.driver":"false"}}})");
  scene.start();
  scene.looked_at.clear();
  add_lookalikes(scene);
  scene.add_pod(tenant, driver_set, "alone", "gpu-3", "r0", younger);
  scene.settle();
  EXPECT_EQ(scene.looked_at.count("gpu-2"), 0U) << "a tenant's DaemonSet is no news for the fleet";
  auto view = scene.view();
  EXPECT_EQ(view.driver.pod->meta.name.view(), "driver-1");
  EXPECT_EQ(view.driver.set->meta.ns.view(), operator_ns);
  EXPECT_EQ(view.driver.newest_revision.view(), "r1");
  EXPECT_TRUE(view.driver.is_in_sync());
  EXPECT_NE(find_pod(view, "alike"), nullptr) << "it is an ordinary pod";
  scene.watch->count_changed();
  EXPECT_EQ(scene.watch->nodes(), (std::vector<std::string>{"gpu-1", "gpu-2"}));
  auto revisions = scene.watch->revisions_of(fmt::format("{}/{}", operator_ns, driver_set));
  ASSERT_TRUE(revisions);
  EXPECT_EQ(revisions->newest, "r1");
}

TEST(DriverNamespaces, AreThoseOfTheFlag) {
  view::FleetWatchOptions options;
  options.drivers.namespaces = {std::string(tenant)};
  WatchedFleet scene(options);
  scene.add_usual();
  add_lookalikes(scene);
  scene.start();
  EXPECT_EQ(scene.view().driver.pod->meta.name.view(), "alike");
  EXPECT_EQ(scene.view().driver.newest_revision.view(), "r9");
  EXPECT_NE(find_pod(scene.view(), "driver-1"), nullptr);
}

TEST(DriverNamespaces, AGpuPodWithTheDriversLabelUsesAGpu) {
  WatchedFleet scene;
  scene.add_usual();
  scene.add_pod(tenant, driver_set, "work", "gpu-1", "r1",
                R"({"spec":{"containers":[{"name":"main","image":"work:1",
                    "resources":{"limits":{"nvidia.com/gpu":"1"}}}]}})");
  scene.start();
  const auto view = scene.view();
  const fleet::PodOnNode* work = find_pod(view, "work");
  ASSERT_NE(work, nullptr);
  EXPECT_TRUE(work->uses_gpu);
  EXPECT_TRUE(scene.watch->runs_gpu_pods("gpu-1"));
}

// Nor is a pod that another DaemonSet of the same namespace made.
TEST(DriverNamespaces, ThePodOfAnotherDaemonSetThereIsNotTheDriver) {
  WatchedFleet scene;
  scene.add_usual();
  scene.add_set(operator_ns, "exporter");
  scene.add_pod(operator_ns, "exporter", "exporter-1", "gpu-1", "r0",
                R"({"metadata":{"labels":{"app":"nvidia-driver-daemonset"},
                                "creationTimestamp":"2099-01-01T00:00:00Z"}})");
  scene.start();
  EXPECT_EQ(scene.view().driver.pod->meta.name.view(), "driver-1");
  EXPECT_NE(find_pod(scene.view(), "exporter-1"), nullptr);
}

TEST(DriverNamespaces, ValidatorsAndClientsOfATenantDoNotCount) {
  WatchedFleet scene;
  scene.add_usual();
  scene.add_set(plugin_ns, plugin_set, R"({})");
  scene.add_pod(operator_ns, validator_set, "validator", "gpu-1");
  scene.add_pod(plugin_ns, plugin_set, "plugin", "gpu-1");
  scene.add_set(tenant, validator_set);
  scene.add_pod(tenant, validator_set, "validator-alike", "gpu-1");
  // Of the very DaemonSet of the plugin, by the uid that it gives as its owner's.
  scene.add_pod(tenant, plugin_set, "plugin-alike", "gpu-1");
  scene.start();
  scene.add_state("gpu-1", State::validation);
  scene.settle();
  auto view = scene.view();
  ASSERT_EQ(view.validators.size(), 1U);
  EXPECT_EQ(view.validators[0]->meta.name.view(), "validator");
  ASSERT_EQ(view.clients.size(), 1U);
  EXPECT_EQ(view.clients[0].pod->meta.name.view(), "plugin");
  scene.api.erase(resource::pods, {std::string(plugin_ns), "plugin"});
  scene.api.erase(resource::pods, {std::string(operator_ns), "validator"});
  scene.settle();
  view = scene.view();
  EXPECT_TRUE(view.validators.empty());
  ASSERT_EQ(view.clients.size(), 1U);
  EXPECT_EQ(view.clients[0].pod, nullptr);
}

TEST(DriverNamespaces, ATenantsDeploymentIsNotNvidiasOperator) {
  WatchedFleet scene;
  scene.add_usual();
  auto deployment = [&](const std::string& ns) {
    scene.put(resource::deployments, {ns, "gpu-operator"},
              json_of(R"({"spec":{"replicas":1,"template":{"metadata":{
                            "labels":{"app":"gpu-operator"}}}}})"));
    scene.put(resource::pods, {ns, "gpu-operator-1"},
              json_of(R"({"metadata":{"labels":{"app":"gpu-operator"}},
                          "spec":{"nodeName":"cpu-1"},"status":{"phase":"Running"}})"));
  };
  deployment("team-a");
  scene.start();
  EXPECT_FALSE(scene.watch->conflicting_controller());
  EXPECT_FALSE(scene.watch->pool("").frozen);
  deployment("gpu-operator");
  scene.settle();
  EXPECT_TRUE(scene.watch->conflicting_controller());
}

// On the embedded API, by what a tenant may do: a DaemonSet with a pod on every node.
class TenantScene : public UpgradeScene {
 public:
  TenantScene() {
    fleet.must(
        kube::create(resource::namespaces, "", json_of(R"({"apiVersion":"v1","kind":"Namespace",
                                        "metadata":{"name":"team-a"}})")));
  }
  std::string add_set(std::string_view name) {
    Json set = fleet.must(
        kube::create(resource::daemon_sets, std::string(tenant), daemon_set_json(tenant, name)));
    return std::string(text_at(set, "metadata", "uid"));
  }
  void add_revision(std::string_view name, const std::string& uid, std::string_view hash,
                    int64_t number) {
    fleet.must(kube::create(
        resource::controller_revisions, std::string(tenant),
        merged(revision_json(name, uid, hash, number), R"({"metadata":{"namespace":"team-a"}})")));
  }
  void add_pod(std::string_view set, const std::string& uid, const std::string& name,
               std::string_view node, std::string_view hash) {
    add(daemon_pod_json(tenant, set, uid, name, node, hash), name);
  }
  // That a ReplicaSet would make again.
  void add_gpu_pod(const std::string& name, std::string_view node, std::string_view app) {
    Json pod = merged(gpu_pod_json(name, node), fmt::format(R"({{"metadata":{{"namespace":"team-a",
                                       "labels":{{"app":"{}"}}}}}})",
                                                            app));
    pod.as_object()["metadata"].as_object()["ownerReferences"] =
        JsonArray{owner_json("work", add_set("owner-of-" + name), "ReplicaSet")};
    add(std::move(pod), name);
  }
  bool is_there(const std::string& pod) {
    return fleet.exists(resource::pods, {std::string(tenant), pod});
  }

 private:
  void add(Json pod, const std::string& name) {
    fleet.must(kube::create(resource::pods, std::string(tenant), std::move(pod)));
    kube::Request status = kube::patch(resource::pods, {std::string(tenant), name},
                                       kube::PatchType::merge, ready_status(fleet.loop.now()));
    status.subresource = "status";
    fleet.must(status);
  }
};

// As an auditor did: all nodes went to upgrade-required, and the work of another team was evicted.
TEST(DriverNamespaces, AChangeOfATenantsDaemonSetUpgradesNothing) {
  TenantScene scene;
  scene.start();
  scene.fleet.add_work("work-1", "gpu-1");
  ASSERT_TRUE(
      scene.fleet.run_until([&] { return scene.fleet.all_are("upgrade-done"); }, minutes(1)));
  const std::string uid = scene.add_set(driver_set);
  scene.add_revision(driver_set, uid, "t1", 1);
  for (int i = 1; i <= 3; ++i) {
    scene.add_pod(driver_set, uid, fmt::format("alike-{}", i), fmt::format("gpu-{}", i), "t1");
  }
  scene.fleet.loop.run_for(minutes(2));
  const uint64_t writes = scene.one.api.writes();
  scene.add_revision(driver_set, uid, "t2", 2);
  scene.fleet.loop.run_for(minutes(10));
  EXPECT_TRUE(scene.fleet.all_are("upgrade-done"));
  EXPECT_TRUE(scene.fleet.exists(resource::pods, {"default", "work-1"}));
  EXPECT_EQ(scene.one.api.writes(), writes) << "nothing was written";
  EXPECT_EQ(scene.one.controller->reasons().at("gpu-1").name, "InSync");
}

// One labelled pod a node kept the fleet on its old driver as "Orphan"; a labelled GPU pod was
// never evicted, and its node never upgraded; a labelled validator was deleted.
TEST(DriverNamespaces, AnUpgradeGoesPastWhatLooksLikeTheDriver) {
  TenantScene scene;
  scene.start();
  const std::string uid = scene.add_set("mine");
  for (int i = 1; i <= 3; ++i) {
    const std::string node = fmt::format("gpu-{}", i);
    for (std::string_view label : {driver_set, validator_set, plugin_set}) {
      scene.add_pod(label, uid, fmt::format("{}-{}", label, i), node, "r0");
    }
  }
  scene.add_gpu_pod("training", "gpu-2", driver_set);
  scene.fleet.loop.run_for(minutes(1));
  scene.upgrade();
  EXPECT_TRUE(scene.finish());
  EXPECT_TRUE(scene.fleet.upgraded());
  EXPECT_FALSE(scene.is_there("training")) << "it uses a GPU, whatever its label";
  for (int i = 1; i <= 3; ++i) {
    for (std::string_view label : {driver_set, validator_set, plugin_set}) {
      EXPECT_TRUE(scene.is_there(fmt::format("{}-{}", label, i))) << label;
    }
  }
}

}  // namespace
}  // namespace lockstep::controller::driver_namespaces_test
