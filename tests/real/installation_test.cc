// The chart on a real control plane: installed by real Helm and by `lockstep install`, an upgrade
// with the rights that it grants, checked by the real RBAC authorizer, and its admission policy
// evaluated by the real API server.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/yaml.h"
#include "real_cluster.h"

namespace lockstep::real::installation_test {
namespace {

// A user with this name has the rights of the chart's service account, and no others.
const std::string account = "system:serviceaccount:lockstep-system:lockstep-controller";
const std::string new_version = "580.126.20";

std::string helm(const std::string& words) { return fmt::format("'{}' {}", LOCKSTEP_HELM, words); }

struct RealInstallation : ::testing::Test {
  void SetUp() override {
    if (std::string why = ControlPlane::missing(); !why.empty()) GTEST_SKIP() << why;
    if (!std::filesystem::exists(LOCKSTEP_HELM))
      GTEST_SKIP() << "there is no " << LOCKSTEP_HELM << ": make tools";
    cluster.emplace(ControlPlaneOptions{.users = {{account, {}}}});
  }
  std::string must(const std::string& script) {
    ProcessOutput run = cluster->sh(script);
    EXPECT_EQ(run.exit_code, 0) << script << "\n" << run.output << run.error;
    return run.output;
  }
  void install_by_helm() {
    must(helm(
        fmt::format("install lockstep '{}' --set image.repository=registry.example.com/lockstep -n "
                    "lockstep-system --create-namespace --wait --timeout 2m",
                    LOCKSTEP_CHART)));
  }
  bool may(const std::string& what) {
    return cluster->sh(fmt::format("kubectl auth can-i {} --as {}", what, account)).exit_code == 0;
  }

  std::optional<RealCluster> cluster;
};

// Lines of the audit log in which the account was refused.
std::set<std::string> refusals(const std::string& log) {
  std::set<std::string> found;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    auto event = parse_json(line);
    if (!event || text_at(*event, "user", "username") != account) continue;
    if (as_integer(find(*event, "responseStatus", "code")) != 403) continue;
    found.insert(fmt::format("{} {}", text_at(*event, "verb"), text_at(*event, "requestURI")));
  }
  return found;
}

TEST_F(RealInstallation, AnUpgradeCompletesWithTheRightsOfTheChartAndNoOthers) {
  cluster->add_real_fleet(6, 20, {"--work", "3"});
  install_by_helm();
  cluster->set_policy(R"({"maxParallelUpgrades": 3, "maxUnavailable": "50%"})");
  cluster->start_controller("controller", {"--kubeconfig", cluster->plane.kubeconfig(account)});
  cluster->require("a known fleet", [&] { return cluster->all_are("upgrade-done"); });
  cluster->set_version(new_version);
  cluster->require("the upgrade", [&] { return cluster->all_are("upgrade-done", new_version); });
  EXPECT_GE(calls_of(cluster->log(), account)["create pods/eviction"], 3u)
      << "it would show nothing";
  EXPECT_EQ(refusals(cluster->log()), std::set<std::string>{});

  EXPECT_TRUE(may("patch nodes"));
  for (const char* much :
       {"get secrets -A", "create pods -A", "patch pods -A", "update deployments.apps -A",
        "delete nodes", "get configmaps -n kube-system",
        "update leases.coordination.k8s.io/other -n lockstep-system", "delete events -A"}) {
    EXPECT_FALSE(may(much)) << much;
  }
  // What a refusal looks like in the log, so that the test above cannot pass by looking at nothing.
  ProcessOutput refused = cluster->sh(
      fmt::format("kubectl --kubeconfig '{}' get secrets -A", cluster->plane.kubeconfig(account)));
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_FALSE(refusals(cluster->log()).empty());
}

// upgrade_policies.yaml is what the controller itself is held to (tests/deploy/policies_test.cc).
TEST_F(RealInstallation, ABrokenPolicyIsRefusedWhenItIsApplied) {
  // Only for NVIDIA's resource definitions.
  cluster->add_real_fleet(1, 20);
  install_by_helm();
  std::ifstream file(LOCKSTEP_TEST_POLICIES);
  std::stringstream text;
  text << file.rdbuf();
  auto table = parse_yaml(text.str(), LOCKSTEP_TEST_POLICIES);
  ASSERT_TRUE(table) << table.error().text();
  auto apply = [&](const Json& policy) {
    Json object =
        JsonObject{{"apiVersion", "nvidia.com/v1"},
                   {"kind", "ClusterPolicy"},
                   {"metadata", JsonObject{{"name", "probe"}}},
                   {"spec", JsonObject{{"driver", JsonObject{{"upgradePolicy", policy}}}}}};
    std::ofstream(cluster->directory() + "/probe.json") << print_json(object);
    return cluster->sh(
        fmt::format("kubectl create --dry-run=server -f '{}/probe.json'", cluster->directory()));
  };
  // The policy takes a moment until it works.
  cluster->require("the admission policy",
                   [&] { return apply(JsonObject{{"maxUnavailable", "no"}}).exit_code != 0; });
  for (const Json& row : table->get_array()) {
    const Json& policy = *find(row, "policy");
    const Json* wrong = find(row, "wrong");
    ProcessOutput applied = apply(policy);
    EXPECT_EQ(applied.exit_code == 0, wrong == nullptr) << print_json(policy) << applied.error;
    if (wrong == nullptr) continue;
    for (const Json& field : wrong->get_array()) {
      EXPECT_NE(applied.error.find(fmt::format("upgradePolicy.{}: ", as_text(&field))),
                std::string::npos)
          << print_json(policy) << applied.error;
    }
  }
  // The expressions fit every kind that they are for.
  Json status = *parse_json(must(
      "kubectl get validatingadmissionpolicy lockstep-upgrade-policy -o jsonpath='{.status}'"));
  EXPECT_EQ(find(status, "typeChecking", "expressionWarnings"), nullptr) << print_json(status);
}

// gpu_configs.yaml is what the DRA plugin itself is held to.
TEST_F(RealInstallation, AnInvalidGpuConfigIsRefusedInClaimsAndTemplates) {
  must(
      helm(fmt::format("install lockstep '{}' --set image.repository=registry.example.com/lockstep "
                       "-n lockstep-system --create-namespace "
                       "--set draPlugin.enabled=true",
                       LOCKSTEP_CHART)));
  std::ifstream file(LOCKSTEP_TEST_GPU_CONFIGS);
  std::stringstream text;
  text << file.rdbuf();
  auto table = parse_yaml(text.str(), LOCKSTEP_TEST_GPU_CONFIGS);
  ASSERT_TRUE(table) << table.error().text();
  auto apply = [&](const Json& fields, bool is_template) {
    JsonObject parameters{{"apiVersion", "gpu.lockstep.dev/v1alpha1"}, {"kind", "GpuConfig"}};
    for (const auto& [key, value] : fields.get_object()) parameters[key] = value;
    Json spec = *parse_json(R"({"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":
        "gpu.lockstep.dev"}}],"config":[{"opaque":{"driver":"gpu.lockstep.dev"}}]}})");
    Json* config = find(spec, "devices", "config");
    config->as_array()[0].as_object()["opaque"].as_object()["parameters"] = std::move(parameters);
    Json object = JsonObject{
        {"apiVersion", "resource.k8s.io/v1"},
        {"kind", is_template ? "ResourceClaimTemplate" : "ResourceClaim"},
        {"metadata", JsonObject{{"name", "probe"}, {"namespace", "default"}}},
        {"spec", is_template ? Json(JsonObject{{"spec", std::move(spec)}}) : std::move(spec)}};
    std::ofstream(cluster->directory() + "/probe.json") << print_json(object);
    return cluster->sh(
        fmt::format("kubectl create --dry-run=server -f '{}/probe.json'", cluster->directory()));
  };
  cluster->require("the admission policy",
                   [&] { return apply(JsonObject{{"no", 1}}, false).exit_code != 0; });
  for (const Json& row : table->get_array()) {
    const Json& config = *find(row, "config");
    const Json* wrong = find(row, "wrong");
    for (bool is_template : {false, true}) {
      ProcessOutput applied = apply(config, is_template);
      EXPECT_EQ(applied.exit_code == 0, wrong == nullptr) << print_json(config) << applied.error;
      if (wrong == nullptr) continue;
      for (const Json& path : wrong->get_array()) {
        EXPECT_NE(applied.error.find(fmt::format("{}: ", as_text(&path))), std::string::npos)
            << print_json(config) << applied.error;
      }
    }
  }
  Json status = *parse_json(
      must("kubectl get validatingadmissionpolicy lockstep-gpu-config -o jsonpath='{.status}'"));
  EXPECT_EQ(find(status, "typeChecking", "expressionWarnings"), nullptr) << print_json(status);
}

TEST_F(RealInstallation, HelmAndInstallLeaveEachOtherAlone) {
  cluster->add_real_fleet(2, 20);
  install_by_helm();
  ProcessOutput refused =
      cluster->lockstep({"install", "--image", "registry.example.com/lockstep"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.error.find("Helm installed it, as lockstep"), std::string::npos)
      << refused.error;
  must(helm("uninstall lockstep -n lockstep-system --wait"));

  ProcessOutput installed = cluster->lockstep(
      {"install", "--image", "registry.example.com/lockstep", "--wait", "--timeout", "2m"});
  EXPECT_EQ(installed.exit_code, 0) << installed.error;
  EXPECT_NE(installed.output.find("available Deployment lockstep-system/lockstep-controller"),
            std::string::npos);
  ProcessOutput again = cluster->lockstep({"install", "--image", "registry.example.com/lockstep"});
  EXPECT_EQ(again.exit_code, 0) << again.error;
  std::istringstream lines(again.output);
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(line.starts_with("unchanged ")) << line;
  EXPECT_NE(
      cluster
          ->sh(helm(fmt::format("install lockstep '{}' --set "
                                "image.repository=registry.example.com/lockstep -n lockstep-system",
                                LOCKSTEP_CHART)))
          .exit_code,
      0);
  EXPECT_EQ(cluster->lockstep({"uninstall"}).exit_code, 0);
  EXPECT_EQ(must("kubectl get clusterrole,role,deployment,networkpolicy -A -o name -l "
                 "app.kubernetes.io/managed-by=lockstep"),
            "");
}

}  // namespace
}  // namespace lockstep::real::installation_test
