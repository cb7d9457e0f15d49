#include "bundle/install_script.h"

#include <string>

#include <gtest/gtest.h>

#include "bundle/deployers_test_util.h"

namespace lockstep::bundle::install_script_test {
namespace {

bool has(const std::string& script, std::string_view part) {
  return script.find(part) != std::string::npos;
}

TEST(InstallScript, StopsAtTheFirstError) {
  for (const Release& release : sample_model().releases) {
    const std::string script = install_script(release);
    EXPECT_TRUE(script.starts_with("#!/usr/bin/env bash\n# ")) << release.name;
    EXPECT_TRUE(has(script, "\nset -euo pipefail\n")) << release.name;
  }
}

TEST(InstallScript, AChartOfARepositoryIsInstalledFromThere) {
  const std::string script = install_script(sample_model().releases[0]);
  EXPECT_TRUE(has(script, ". ./upstream.env"));
  EXPECT_TRUE(has(script, R"(upgrade --install certificates "$CHART" --repo "$REPO")"));
  EXPECT_TRUE(has(script, R"(--version "$VERSION")"));
  EXPECT_TRUE(has(script, "--namespace certificates --create-namespace --values values.yaml"));
}

TEST(InstallScript, AChartOfARegistryIsNamedWithItsAddress) {
  const std::string script = install_script(sample_model().releases[2]);
  EXPECT_TRUE(has(script, R"(upgrade --install plugin "${REPO%/}/$CHART" --version "$VERSION")"));
  EXPECT_FALSE(has(script, "--repo"));
}

TEST(InstallScript, WaitsAsTheTableSays) {
  Release release = sample_model().releases[0];
  EXPECT_TRUE(has(install_script(release), "\n  --wait --timeout 600s)"));
  release.wait_for_jobs = true;
  release.timeout_seconds = 90;
  EXPECT_TRUE(has(install_script(release), "\n  --wait --wait-for-jobs --timeout 90s)"));
  // Helm refuses to wait for jobs alone.
  release.wait = false;
  EXPECT_TRUE(has(install_script(release), "\n  --timeout 90s)"));
}

TEST(InstallScript, ALocalChartIsTheFolderItself) {
  const std::string script = install_script(sample_model().releases[3]);
  EXPECT_TRUE(has(script, "upgrade --install operator-post .\n"));
  EXPECT_FALSE(has(script, "upstream.env"));
}

TEST(InstallScript, KustomizeIsAppliedByKubectl) {
  Release release = sample_model().releases[4];
  const std::string script = install_script(release);
  EXPECT_TRUE(has(script, "apply -k ."));
  EXPECT_TRUE(has(script, "namespace=kustom-system\n"));
  EXPECT_TRUE(has(script, "rollout status"));
  EXPECT_FALSE(has(script, "helm"));
  release.wait = false;
  release.ns = "";
  EXPECT_FALSE(has(install_script(release), "rollout status"));
  EXPECT_FALSE(has(install_script(release), "create namespace"));
}

TEST(InstallScript, HoldsNothingOfWhatItInstalls) {
  for (const Release& release : nasty_model().releases) {
    EXPECT_FALSE(has(install_script(release), "touch")) << release.name;
  }
}

}  // namespace
}  // namespace lockstep::bundle::install_script_test
