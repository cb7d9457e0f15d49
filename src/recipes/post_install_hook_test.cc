// The acceptance list of seed 001 (the post-install hook), by its own words.
#include <gtest/gtest.h>

#include "base/strings.h"
#include "data/json.h"
#include "recipes/recipes_test_util.h"

namespace lockstep::recipes::post_install_hook_test {
namespace {

constexpr std::string_view job_name = "dra-kubelet-plugin-rollout-after-driver-migration";
constexpr std::string_view chart = "gpu-operator-post";

const bundle::Release* find_release(const bundle::BundleModel& model, std::string_view name) {
  for (const bundle::Release& release : model.releases) {
    if (release.name == name) return &release;
  }
  return nullptr;
}

size_t position(const bundle::BundleModel& model, std::string_view name) {
  for (size_t i = 0; i < model.releases.size(); ++i) {
    if (model.releases[i].name == name) return i;
  }
  return model.releases.size();
}

// All of a bundle's files whose path has the part, as one text.
std::string text_under(const bundle::FileMap& files, std::string_view part) {
  std::string text;
  for (const auto& [path, content] : files) {
    if (path.find(part) != std::string::npos) text += content;
  }
  return text;
}

TEST(PostInstallHook, TheJobAndItsRbacAreInTheOutputOfEveryDeployer) {
  auto bundles = bundles_of(make(request_for(flagship)).model);
  ASSERT_EQ(bundles.size(), 5U);
  for (const auto& [deployer, files] : bundles) {
    std::string templates = text_under(files, "gpu-operator-post/templates/");
    for (std::string_view part :
         {job_name, std::string_view("helm.sh/hook: post-install,post-upgrade"),
          std::string_view("helm.sh/hook-weight: \"10\""),
          std::string_view("helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded"),
          std::string_view("kind: ServiceAccount"), std::string_view("kind: ClusterRole\n"),
          std::string_view("kind: ClusterRoleBinding"), std::string_view("kind: Role\n"),
          std::string_view("kind: RoleBinding"), std::string_view("kind: ConfigMap")}) {
      EXPECT_NE(templates.find(part), std::string::npos) << deployer << ": " << part;
    }
    EXPECT_EQ(templates.find("ttlSecondsAfterFinished"), std::string::npos) << deployer;
  }
}

TEST(PostInstallHook, WithTheDraDriverDisabledThereIsNone) {
  for (const auto& [deployer, files] :
       bundles_of(make(request_for(flagship, {"dradriver:enabled=false"})).model)) {
    for (const auto& [path, content] : files) {
      EXPECT_EQ(content.find(job_name), std::string::npos) << deployer << " " << path;
      EXPECT_EQ(path.find(chart), std::string::npos) << deployer;
      EXPECT_EQ(content.find("postInstallHooks"), std::string::npos) << deployer << " " << path;
    }
  }
}

TEST(PostInstallHook, ComesAfterTheOperatorAndTheDraDriver) {
  bundle::BundleModel model = make(request_for(flagship)).model;
  EXPECT_GT(position(model, chart), position(model, "nvidia-dra-driver-gpu"));
  EXPECT_GT(position(model, chart), position(model, "gpu-operator"));
  const bundle::Release* release = find_release(model, chart);
  ASSERT_NE(release, nullptr);
  EXPECT_EQ(release->needs, (std::vector<std::string>{"gpu-operator", "nvidia-dra-driver-gpu"}));
}

TEST(PostInstallHook, ItsSwitchIsAValueAndNoBusinessOfTheOperatorsChart) {
  bundle::BundleModel model =
      make(request_for(flagship, {"gpuoperator:postInstallHooks.dra.enabled=false"})).model;
  const bundle::Release* hook = find_release(model, chart);
  const bundle::Release* own = find_release(model, "gpu-operator");
  ASSERT_NE(hook, nullptr);
  ASSERT_NE(own, nullptr);
  EXPECT_FALSE(as_bool(find(Json(hook->values), "postInstallHooks", "dra", "enabled"), true));
  EXPECT_FALSE(own->values.contains("postInstallHooks"));
  const bundle::BundleModel on = make(request_for(flagship)).model;
  EXPECT_TRUE(as_bool(
      find(Json(find_release(on, chart)->values), "postInstallHooks", "dra", "enabled"), false));
}

TEST(PostInstallHook, TheLimitOfItsReleaseIsLongerThanTheJobsOwnWaits) {
  bundle::BundleModel model = make(request_for(flagship)).model;
  const bundle::Release* release = find_release(model, chart);
  ASSERT_NE(release, nullptr);
  int64_t deadline =
      as_integer(find(Json(release->values), "postInstallHooks", "dra", "deadlineSeconds"), 0);
  EXPECT_GT(deadline, (20 + 5) * 60);
  EXPECT_GT(release->timeout_seconds, deadline);
}

TEST(PostInstallHook, ABumpChangesAPlainObjectSoThatArgoCdSeesIt) {
  bundle::BundleModel model =
      make(request_for(flagship, {"gpu-operator:driver.version=581.1.2"})).model;
  Json values = find_release(model, chart)->values;
  EXPECT_EQ(text_at(values, "postInstallHooks", "dra", "driverVersion"), "581.1.2");
  EXPECT_EQ(text_at(values, "postInstallHooks", "dra", "chartVersion"), "v26.3.1");
  EXPECT_EQ(text_at(values, "postInstallHooks", "dra", "pluginNamespace"), "nvidia-dra-driver");
  auto templates = find_release(model, chart)->templates;
  std::string versions = templates.at("dra-reroll-versions.yaml");
  EXPECT_EQ(versions.find("helm.sh/hook"), std::string::npos);
  EXPECT_NE(versions.find("chartVersion"), std::string::npos);
  EXPECT_NE(versions.find("driverVersion"), std::string::npos);
}

TEST(PostInstallHook, DeployShKeepsItsOwnGuardedRestart) {
  auto bundles = bundles_of(make(request_for(flagship)).model);
  std::string script = bundles.at("helm").at("deploy.sh");
  EXPECT_NE(script.find("restart_older_pods nvidia-dra-driver"), std::string::npos);
  EXPECT_EQ(script.find("rollout restart"), std::string::npos);
  auto without = bundles_of(make(request_for(flagship, {"dradriver:enabled=false"})).model);
  EXPECT_EQ(without.at("helm").at("deploy.sh").find("nvidia-dra-driver"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::recipes::post_install_hook_test
