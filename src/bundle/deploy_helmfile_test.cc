#include "bundle/deploy_helmfile.h"

#include <string>

#include <gtest/gtest.h>

#include "bundle/deployers_test_util.h"

namespace lockstep::bundle::deploy_helmfile_test {
namespace {

BundleFiles bundle(const BundleModel& model) {
  auto files = deploy_with_helmfile(model);
  EXPECT_TRUE(files.has_value()) << files.error().text();
  return files ? *files : BundleFiles{};
}

Json helmfile(const BundleModel& model) { return yaml_at(bundle(model), "helmfile.yaml"); }

Json release(const Json& helmfile, size_t position) {
  return find(helmfile, "releases")->as_array().at(position);
}

TEST(DeployHelmfile, NamesEveryRepositoryOnce) {
  const Json json = helmfile(sample_model());
  EXPECT_EQ(print_json(*find(json, "repositories")),
            R"([{"name":"charts-example-com-stable","url":"https://charts.example.com/stable"},)"
            R"({"name":"registry-example-com-charts","url":"registry.example.com/charts",)"
            R"("oci":true}])");
}

TEST(DeployHelmfile, AReleaseSaysAllThatTheTableSays) {
  EXPECT_EQ(
      print_json(release(helmfile(sample_model()), 2)),
      R"({"name":"plugin","namespace":"plugin-system",)"
      R"("chart":"registry-example-com-charts/plugin","version":"25.12.0",)"
      R"("values":["003-plugin/values.yaml"],"needs":["operator-system/operator"],)"
      R"("createNamespace":true,"disableValidationOnInstall":true,"wait":true,"waitForJobs":true,"timeout":900})");
  EXPECT_FALSE(as_bool(find(release(helmfile(sample_model()), 1), "wait"), true));
}

TEST(DeployHelmfile, ChartsOfTheBundleAreFolders) {
  const Json json = helmfile(sample_model());
  EXPECT_EQ(text_at(release(json, 3), "chart"), "./004-operator-post");
  EXPECT_EQ(find(release(json, 3), "version"), nullptr);
  EXPECT_EQ(print_json(*find(release(json, 3), "needs")),
            R"(["operator-system/operator","plugin-system/plugin"])");
}

TEST(DeployHelmfile, AKustomizeFolderIsAChartWithoutValues) {
  const Json json = helmfile(sample_model());
  EXPECT_EQ(text_at(release(json, 4), "chart"), "./005-kustom");
  EXPECT_EQ(find(release(json, 4), "values"), nullptr);
  EXPECT_TRUE(bundle(sample_model()).contains("005-kustom/kustomization.yaml"));
}

TEST(DeployHelmfile, WithoutANamespaceNoneIsMade) {
  BundleModel model = sample_model();
  model.releases[4].ns = "";
  model.releases.push_back(model.releases[0]);
  model.releases[5].name = "last";
  model.releases[5].needs = {"kustom"};
  const Json json = helmfile(model);
  EXPECT_FALSE(as_bool(find(release(json, 4), "createNamespace"), true));
  EXPECT_EQ(print_json(*find(release(json, 5), "needs")), R"(["kustom"])");
}

// Version 0 of Helmfile would render them.
TEST(DeployHelmfile, HasNoBracesWhateverVersionsHold) {
  const std::string text = content(bundle(nasty_model()), "helmfile.yaml");
  EXPECT_EQ(text.find("{{"), std::string::npos);
  EXPECT_EQ(text_at(release(helmfile(nasty_model()), 0), "version"), nasty_version());
}

}  // namespace
}  // namespace lockstep::bundle::deploy_helmfile_test
