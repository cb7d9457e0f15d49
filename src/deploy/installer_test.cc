#include "deploy/installer.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "apiserver/verbs/backend.h"
#include "apiserver/verbs/in_process_api.h"
#include "data/yaml.h"
#include "deploy/manifest_kinds.h"
#include "world/log.h"
#include "world/random.h"
#include "world/virtual_loop.h"

namespace lockstep::deploy::installer_test {
namespace {

struct Installer : ::testing::Test {
  Installer() {
    make(resource::namespaces, "{apiVersion: v1, kind: Namespace, metadata: {name: default}}");
  }
  std::vector<Manifest> manifests(std::string_view values = "{}") {
    auto chart = Chart::read(embedded_chart());
    EXPECT_TRUE(chart);
    auto merged = chart->values(
        {*parse_yaml("{image: {repository: registry.example.com/lockstep}}"), *parse_yaml(values)});
    EXPECT_TRUE(merged) << merged.error().text();
    return *chart->render(release, *merged);
  }
  // "created 13, unchanged 2", or the error.
  std::string summary(const Result<std::vector<ObjectChange>>& changes) {
    if (!changes) return "error " + changes.error().text();
    std::map<std::string, int> counts;
    for (const ObjectChange& change : *changes) ++counts[change.what];
    std::string text;
    for (const auto& [what, count] : counts)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, count);
    return text;
  }
  void make(const ResourceType& type, std::string_view yaml) {
    Json object = *parse_yaml(yaml);
    auto made = api.create(type, key_of(object).ns, object);
    ASSERT_TRUE(made) << made.error().text();
  }

  VirtualLoop loop{1};
  SeededRandom random{1};
  SilentLog log;
  apiserver::Backend backend{loop, random, {}};
  apiserver::InProcessApi in_process{backend, {"someone", {}, "lockstep"}};
  kube::SyncApi api{in_process, loop};
  ReleaseName release;
};

TEST_F(Installer, ASecondInstallOfTheSameChangesNothing) {
  EXPECT_EQ(summary(install(api, release, manifests())), "created 24");
  EXPECT_EQ(summary(install(api, release, manifests())), "unchanged 23");
}

// Its Deployment's controller writes a status each time, just before the object is applied.
class BusyCluster final : public kube::Api {
 public:
  explicit BusyCluster(kube::Api& inner) : inner_(inner) {}
  void call(kube::Request request, kube::ReplyCallback done) override {
    if (request.type == resource::deployments && request.verb == kube::Verb::patch) {
      Json status = JsonObject{{"status", JsonObject{{"observedGeneration", ++writes}}}};
      kube::Request write =
          kube::patch(request.type, {request.ns, request.name}, kube::PatchType::merge, status);
      write.subresource = "status";
      inner_.call(std::move(write), [](const kube::Reply&) {});
    }
    inner_.call(std::move(request), std::move(done));
  }
  std::unique_ptr<kube::Watch> watch(kube::WatchRequest request,
                                     kube::WatchHandler handler) override {
    return inner_.watch(std::move(request), std::move(handler));
  }
  int writes = 0;

 private:
  kube::Api& inner_;
};

TEST_F(Installer, WhatTheClusterWritesByItselfIsNoChange) {
  ASSERT_TRUE(install(api, release, manifests()));
  BusyCluster busy(in_process);
  kube::SyncApi through(busy, loop);
  EXPECT_EQ(summary(install(through, release, manifests())), "unchanged 23");
  EXPECT_EQ(busy.writes, 1);
}

TEST_F(Installer, WhatANewInstallDoesNotWantIsRemoved) {
  ASSERT_TRUE(install(api, release, manifests()));
  auto changes = install(api, release,
                         manifests("{networkPolicy: {enabled: false}, controller: {replicas: 1}}"));
  // The budget goes with the second replica.
  EXPECT_EQ(summary(changes), "changed 1, removed 3, unchanged 19");
  EXPECT_FALSE(api.get(resource::pod_disruption_budgets, {release.ns, "lockstep-controller"}));
}

// A user's own skip label is not ours.
TEST_F(Installer, UninstallTakesOurSkipLabelsOffAllNodes) {
  auto make_node = [&](const std::string& name, const std::string& annotations) {
    make(resource::nodes,
         "{apiVersion: v1, kind: Node, metadata: {name: " + name +
             ", labels: {nvidia.com/gpu-driver-upgrade.skip: \"true\"}, annotations: {" +
             annotations + "}}}");
  };
  make_node("gpu-1", "lockstep.dev/kept-back-by: driver");
  make_node("gpu-2", "");
  EXPECT_EQ(summary(release_nodes(api)), "released 1");
  auto skip_of = [&](const std::string& name) {
    auto node = api.get(resource::nodes, {"", name});
    return std::string(text_at(**node, "metadata", "labels", "nvidia.com/gpu-driver-upgrade.skip"));
  };
  EXPECT_EQ(skip_of("gpu-1"), "");
  EXPECT_EQ(skip_of("gpu-2"), "true");
  EXPECT_EQ(summary(release_nodes(api)), "");
}

TEST_F(Installer, UninstallTakesItsOwnAndNothingElse) {
  ASSERT_TRUE(install(api, release, manifests()));
  make({"", "v1", "ServiceAccount", "serviceaccounts", true},
       "{apiVersion: v1, kind: ServiceAccount, metadata: {name: other, namespace: lockstep-system, "
       "labels: "
       "{app.kubernetes.io/managed-by: lockstep}}}");
  EXPECT_EQ(summary(uninstall(api, release)), "removed 21");
  EXPECT_EQ(summary(uninstall(api, release)), "");
  EXPECT_TRUE(
      api.get({"", "v1", "ServiceAccount", "serviceaccounts", true}, {release.ns, "other"}));
  EXPECT_TRUE(api.get(resource::namespaces, {"", release.ns}));
  // Rollouts and their history outlive the installation.
  EXPECT_TRUE(api.get(resource::custom_resource_definitions, {"", "driverrollouts.lockstep.dev"}));
}

TEST_F(Installer, NothingIsWrittenWhereSomethingBelongsToHelm) {
  make({"rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false},
       "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "
       "lockstep-controller, labels: "
       "{app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: gpu}}, "
       "rules: []}");
  EXPECT_EQ(summary(install(api, release, manifests())),
            "error ClusterRole lockstep-controller: Helm installed it, as gpu: use helm upgrade, "
            "or helm uninstall it first");
  EXPECT_FALSE(api.get(resource::namespaces, {"", release.ns}));
}

TEST_F(Installer, AnothersObjectIsTakenOverByForceOnly) {
  make({"rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false},
       "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "
       "lockstep-controller}, rules: []}");
  EXPECT_EQ(summary(install(api, release, manifests())),
            "error ClusterRole lockstep-controller: it exists, and lockstep install did not create "
            "it: --force takes it over");
  EXPECT_EQ(summary(install(api, release, manifests(), {.force = true})), "changed 1, created 23");
}

// Helm leaves it behind with Helm's marks, but it has no other owner.
TEST_F(Installer, TakesOverADefinitionThatOutlivedItsRelease) {
  make(
      resource::custom_resource_definitions,
      "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: "
      "driverrollouts.lockstep.dev, labels: {app.kubernetes.io/managed-by: Helm}, annotations: "
      "{helm.sh/resource-policy: keep, meta.helm.sh/release-name: lockstep}}, spec: {group: "
      "lockstep.dev, scope: Cluster, names: {kind: DriverRollout, listKind: DriverRolloutList, "
      "plural: driverrollouts, singular: driverrollout}, versions: [{name: v1alpha1, served: true, "
      "storage: true, schema: {openAPIV3Schema: {type: object}}}]}}");
  EXPECT_EQ(summary(install(api, release, manifests())), "changed 1, created 23");
}

TEST_F(Installer, TwoReleasesOfOneNameDoNotShareAnything) {
  ASSERT_TRUE(install(api, release, manifests()));
  release.ns = "elsewhere";
  EXPECT_NE(summary(install(api, release, manifests()))
                .find("belongs to another install, lockstep-system/lockstep"),
            std::string::npos);
  EXPECT_EQ(summary(uninstall(api, release)), "");
}

TEST_F(Installer, AKindThatTheClusterLacksIsNamed) {
  auto changes = install(api, release, manifests("{metrics: {serviceMonitor: {enabled: true}}}"));
  EXPECT_EQ(
      summary(changes),
      "error ServiceMonitor lockstep-system/lockstep-controller: the cluster has no ServiceMonitor "
      "(monitoring.coreos.com/v1): disable it, or install its definition");
}

TEST_F(Installer, NodesInFlightAreFoundWhateverTheDomain) {
  auto node = [&](const std::string& name, const std::string& label) {
    make(resource::nodes,
         fmt::format("{{apiVersion: v1, kind: Node, metadata: {{name: {}, labels: {{{}}}}}}}", name,
                     label));
  };
  node("a", "nvidia.com/gpu-driver-upgrade-state: pod-restart-required");
  node("b", "lockstep.dev/gpu-driver-upgrade-state: cordon-required");
  node("c", "nvidia.com/gpu-driver-upgrade-state: upgrade-done");
  node("d", "nvidia.com/gpu-driver-upgrade-state: upgrade-required");
  node("e", "other: cordon-required");
  auto names = nodes_in_flight(api);
  ASSERT_TRUE(names) << names.error().text();
  EXPECT_EQ(*names, (std::vector<std::string>{"a", "b"}));
}

TEST(MissingOfDeployment, SaysWhatItWaitsFor) {
  auto missing = [](std::string_view status, int generation = 2) {
    return missing_of_deployment(*parse_yaml(
        fmt::format("{{metadata: {{generation: {}}}, spec: {{replicas: 2}}, status: {}}}",
                    generation, status)));
  };
  EXPECT_EQ(missing("{observedGeneration: 1}"),
            "the Deployment's controller has not observed it yet");
  EXPECT_EQ(missing("{}"), "the Deployment's controller has not observed it yet");
  EXPECT_EQ(missing("{observedGeneration: 2, replicas: 3, updatedReplicas: 1}"),
            "1 of 2 pods have the new version");
  EXPECT_EQ(
      missing("{observedGeneration: 2, replicas: 3, updatedReplicas: 2, availableReplicas: 3}"),
      "1 pods of the old version still exist");
  EXPECT_EQ(
      missing("{observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 1}"),
      "1 of 2 pods are available");
  EXPECT_EQ(
      missing("{observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2}"),
      "");
}

}  // namespace
}  // namespace lockstep::deploy::installer_test
