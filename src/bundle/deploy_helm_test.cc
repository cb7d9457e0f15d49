#include "bundle/deploy_helm.h"

#include <string>

#include <gtest/gtest.h>

#include "bundle/deployers_test_util.h"

namespace lockstep::bundle::deploy_helm_test {
namespace {

BundleFiles bundle(const BundleModel& model) {
  auto files = deploy_with_helm(model);
  EXPECT_TRUE(files.has_value()) << files.error().text();
  return files ? *files : BundleFiles{};
}

bool has(const std::string& script, std::string_view part) {
  return script.find(part) != std::string::npos;
}

TEST(DeployHelm, DeploysInTheOrderOfTheTable) {
  EXPECT_TRUE(has(content(bundle(sample_model()), "deploy.sh"),
                  "\nreleases=(\n  001-certificates\n  002-operator\n  003-plugin\n"
                  "  004-operator-post\n  005-kustom\n)\n"));
}

TEST(DeployHelm, EveryReleaseCanBeInstalled) {
  const BundleModel model = sample_model();
  const BundleFiles files = bundle(model);
  for (size_t position = 0; position < model.releases.size(); ++position) {
    const std::string folder = release_folder(position, model.releases[position]);
    EXPECT_TRUE(files.at(folder + "/install.sh").executable) << folder;
  }
}

TEST(DeployHelm, UndeploysInReverse) {
  const std::string script = content(bundle(sample_model()), "undeploy.sh");
  size_t last = 0;
  for (const std::string_view name : {"remove kustom ", "remove operator-post ", "remove plugin ",
                                      "remove operator ", "remove certificates "}) {
    const size_t at = script.find(name);
    ASSERT_NE(at, std::string::npos) << name;
    EXPECT_GT(at, last) << name;
    last = at;
  }
  EXPECT_TRUE(has(script, "uninstall operator-post --namespace operator-system"));
  EXPECT_TRUE(has(script, "delete -k 005-kustom --ignore-not-found"));
}

TEST(DeployHelm, StopsAtErrorsAndSaysHowToGoOn) {
  const std::string script = content(bundle(sample_model()), "deploy.sh");
  EXPECT_TRUE(has(script, "\nset -euo pipefail\n"));
  EXPECT_TRUE(has(script, "trap on_exit EXIT"));
  EXPECT_TRUE(has(script, "./deploy.sh --from %s"));
}

TEST(DeployHelm, RestartsOnlyWhereTheTableSays) {
  BundleModel model = sample_model();
  EXPECT_TRUE(has(content(bundle(model), "deploy.sh"), "\n  after_release \"$current\"\n"));
  model.restarts.clear();
  EXPECT_FALSE(has(content(bundle(model), "deploy.sh"), "after_release"));
}

TEST(DeployHelm, AsksForKubectlOnlyWhereItIsUsed) {
  BundleModel model = sample_model();
  EXPECT_TRUE(has(content(bundle(model), "deploy.sh"), R"(check_programs "$helm" "$kubectl")"));
  model.restarts.clear();
  EXPECT_TRUE(has(content(bundle(model), "deploy.sh"), R"(check_programs "$helm" "$kubectl")"));
  model.releases.pop_back();
  EXPECT_TRUE(has(content(bundle(model), "deploy.sh"), "check_programs \"$helm\"\n"));
}

}  // namespace
}  // namespace lockstep::bundle::deploy_helm_test
