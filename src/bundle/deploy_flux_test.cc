#include "bundle/deploy_flux.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "bundle/deployers_test_util.h"
#include "bundle/release_files.h"

namespace lockstep::bundle::deploy_flux_test {
namespace {

BundleFiles bundle(const BundleModel& model) {
  auto files = deploy_with_flux(model);
  EXPECT_TRUE(files.has_value()) << files.error().text();
  return files ? *files : BundleFiles{};
}

std::string json_of(const Json* json) { return json == nullptr ? "nothing" : print_json(*json); }

TEST(DeployFlux, TheListNamesEveryObjectAndEveryNameIsThere) {
  const BundleFiles files = bundle(sample_model());
  const Json list = yaml_at(files, "kustomization.yaml");
  std::set<std::string> listed;
  for (const Json& path : find(list, "resources")->as_array()) {
    listed.insert(std::string(as_text(&path)));
    EXPECT_TRUE(files.contains(std::string(as_text(&path)))) << path;
  }
  for (const auto& [path, file] : files) {
    if (path.starts_with("sources/") || path.ends_with("/helmrelease.yaml")) {
      EXPECT_TRUE(listed.contains(path)) << path;
    }
  }
  EXPECT_EQ(listed.size(), 10U);
}

TEST(DeployFlux, AReleaseSaysAllThatTheTableSays) {
  const Json json = yaml_at(bundle(sample_model()), "plugin/helmrelease.yaml");
  EXPECT_EQ(text_at(json, "apiVersion"), "helm.toolkit.fluxcd.io/v2");
  EXPECT_EQ(text_at(json, "metadata", "namespace"), "flux-system");
  EXPECT_EQ(text_at(json, "spec", "releaseName"), "plugin");
  EXPECT_EQ(text_at(json, "spec", "targetNamespace"), "plugin-system");
  EXPECT_EQ(text_at(json, "spec", "timeout"), "900s");
  EXPECT_EQ(json_of(find(json, "spec", "dependsOn")), R"([{"name":"operator"}])");
  EXPECT_EQ(json_of(find(json, "spec", "chart", "spec")),
            R"({"chart":"plugin","version":"25.12.0","sourceRef":{"kind":"HelmRepository",)"
            R"("name":"registry-example-com-charts"},"interval":"10m"})");
  EXPECT_EQ(json_of(find(json, "spec", "install")),
            R"({"createNamespace":true,"disableWait":false,"disableWaitForJobs":false,)"
            R"("remediation":{"retries":3}})");
  EXPECT_EQ(json_of(find(json, "spec", "upgrade")),
            R"({"disableWait":false,"disableWaitForJobs":false,"remediation":{"retries":3}})");
}

TEST(DeployFlux, AReleaseThatNobodyWaitsForIsNotWaitedFor) {
  const Json json = yaml_at(bundle(sample_model()), "operator/helmrelease.yaml");
  EXPECT_TRUE(as_bool(find(json, "spec", "install", "disableWait")));
  EXPECT_TRUE(as_bool(find(json, "spec", "upgrade", "disableWait")));
  EXPECT_TRUE(as_bool(find(json, "spec", "install", "disableWaitForJobs")));
}

TEST(DeployFlux, ARegistryIsDeclaredAsOne) {
  const BundleFiles files = bundle(sample_model());
  const Json oci = yaml_at(files, "sources/helmrepository-registry-example-com-charts.yaml");
  EXPECT_EQ(text_at(oci, "spec", "type"), "oci");
  EXPECT_EQ(text_at(oci, "spec", "url"), "oci://registry.example.com/charts");
  const Json http = yaml_at(files, "sources/helmrepository-charts-example-com-stable.yaml");
  EXPECT_EQ(find(http, "spec", "type"), nullptr);
}

TEST(DeployFlux, ALocalChartComesFromTheGitRepositoryOfTheBundle) {
  const BundleFiles files = bundle(sample_model());
  EXPECT_EQ(json_of(find(yaml_at(files, "operator-post/helmrelease.yaml"), "spec", "chart")),
            R"({"spec":{"chart":"./clusters/one/operator-post","sourceRef":)"
            R"({"kind":"GitRepository","name":"lockstep-bundle"},"reconcileStrategy":"Revision",)"
            R"("interval":"10m"}})");
  const Json git = yaml_at(files, "sources/gitrepository-bundle.yaml");
  EXPECT_EQ(text_at(git, "metadata", "name"), "lockstep-bundle");
  EXPECT_EQ(text_at(git, "spec", "url"), "https://git.example.com/fleet.git");
  EXPECT_EQ(text_at(git, "spec", "ref", "branch"), "main");
}

TEST(DeployFlux, ARevisionIsABranchUnlessItSaysOtherwise) {
  BundleModel model = sample_model();
  const auto ref = [&](const std::string& revision) {
    model.git_revision = revision;
    return json_of(
        find(yaml_at(bundle(model), "sources/gitrepository-bundle.yaml"), "spec", "ref"));
  };
  EXPECT_EQ(ref("release"), R"({"branch":"release"})");
  EXPECT_EQ(ref("refs/tags/v1"), R"({"name":"refs/tags/v1"})");
  EXPECT_EQ(ref(std::string(40, 'a')), R"({"commit":")" + std::string(40, 'a') + R"("})");
}

TEST(DeployFlux, WithoutARepositoryThePlaceholderIsMarked) {
  BundleModel model = sample_model();
  model.git_repository = "";
  const BundleFiles files = bundle(model);
  EXPECT_NE(content(files, "sources/gitrepository-bundle.yaml").find("REPLACE"), std::string::npos);
  EXPECT_NE(content(files, "README.md").find(git_placeholder), std::string::npos);
}

TEST(DeployFlux, WithoutLocalChartsNoGitRepositoryIsNeeded) {
  BundleModel model = sample_model();
  model.git_repository = "";
  model.releases.erase(model.releases.begin() + 3);
  model.restarts.clear();
  const BundleFiles files = bundle(model);
  EXPECT_FALSE(files.contains("sources/gitrepository-bundle.yaml"));
  EXPECT_EQ(content(files, "README.md").find(git_placeholder), std::string::npos);
}

TEST(DeployFlux, KustomizeStaysKustomize) {
  const BundleFiles files = bundle(sample_model());
  const Json json = yaml_at(files, "kustom/flux-kustomization.yaml");
  EXPECT_EQ(text_at(json, "apiVersion"), "kustomize.toolkit.fluxcd.io/v1");
  EXPECT_EQ(text_at(json, "spec", "path"), "./deploy/base");
  EXPECT_EQ(text_at(json, "spec", "targetNamespace"), "kustom-system");
  const Json git = yaml_at(files, "sources/gitrepository-release-kustom.yaml");
  EXPECT_EQ(text_at(git, "metadata", "name"), text_at(json, "spec", "sourceRef", "name"));
  EXPECT_EQ(text_at(git, "spec", "ref", "tag"), "v4.0");
}

// Flux knows no dependency from one kind on the other: what lies behind it is named instead.
TEST(DeployFlux, DependenciesReachThroughTheOtherKind) {
  BundleModel model = sample_model();
  Release last = model.releases[0];
  last.name = "last";
  last.needs = {"kustom", "plugin"};
  model.releases.push_back(last);
  const BundleFiles files = bundle(model);
  EXPECT_EQ(json_of(find(yaml_at(files, "last/helmrelease.yaml"), "spec", "dependsOn")),
            R"([{"name":"certificates"},{"name":"plugin"}])");
  EXPECT_EQ(find(yaml_at(files, "kustom/flux-kustomization.yaml"), "spec", "dependsOn"), nullptr);
}

}  // namespace
}  // namespace lockstep::bundle::deploy_flux_test
