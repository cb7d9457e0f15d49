#include "bundle/deploy_argocd.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bundle/deployers_test_util.h"
#include "bundle/release_files.h"

namespace lockstep::bundle::deploy_argocd_test {
namespace {

BundleFiles bundle(const BundleModel& model) {
  auto files = deploy_with_argocd(model);
  EXPECT_TRUE(files.has_value()) << files.error().text();
  return files ? *files : BundleFiles{};
}

Json application_of(const BundleModel& model, size_t position) {
  return yaml_at(bundle(model),
                 release_folder(position, model.releases[position]) + "/application.yaml");
}

TEST(DeployArgocd, AReleaseThatNobodyWaitsForSharesItsWaveWithTheNext) {
  BundleModel model = sample_model();
  EXPECT_EQ(sync_waves(model), (std::vector<int>{1, 2, 2, 4, 5}));
  EXPECT_EQ(
      text_at(application_of(model, 2), "metadata", "annotations", "argocd.argoproj.io/sync-wave"),
      "2");
  for (Release& release : model.releases) release.wait = true;
  EXPECT_EQ(sync_waves(model), (std::vector<int>{1, 2, 3, 4, 5}));
  model.releases[2].wait = model.releases[3].wait = false;
  EXPECT_EQ(sync_waves(model), (std::vector<int>{1, 2, 3, 3, 3}));
}

TEST(DeployArgocd, AnUpstreamChartNeedsNoGitRepository) {
  const Json source = *find(application_of(sample_model(), 0), "spec", "source");
  EXPECT_EQ(text_at(source, "repoURL"), "https://charts.example.com/stable");
  EXPECT_EQ(text_at(source, "chart"), "certificates");
  EXPECT_EQ(text_at(source, "targetRevision"), "v1.2.3");
  EXPECT_EQ(text_at(source, "helm", "releaseName"), "certificates");
  EXPECT_EQ(find(source, "path"), nullptr);
}

TEST(DeployArgocd, ARegistryIsNamedWithoutItsScheme) {
  EXPECT_EQ(text_at(application_of(sample_model(), 2), "spec", "source", "repoURL"),
            "registry.example.com/charts");
}

TEST(DeployArgocd, ALocalChartComesFromTheGitRepositoryOfTheBundle) {
  BundleModel model = sample_model();
  Json source = *find(application_of(model, 3), "spec", "source");
  EXPECT_EQ(text_at(source, "repoURL"), "https://git.example.com/fleet.git");
  EXPECT_EQ(text_at(source, "path"), "clusters/one/004-operator-post");
  EXPECT_EQ(text_at(source, "targetRevision"), "HEAD");
  model.git_repository = "";
  model.git_revision = "v7";
  source = *find(application_of(model, 3), "spec", "source");
  EXPECT_EQ(text_at(source, "repoURL"), git_placeholder);
  EXPECT_EQ(text_at(source, "targetRevision"), "v7");
  EXPECT_NE(content(bundle(model), "004-operator-post/application.yaml").find("# REPLACE"),
            std::string::npos);
}

TEST(DeployArgocd, KustomizeStaysKustomize) {
  const Json source = *find(application_of(sample_model(), 4), "spec", "source");
  EXPECT_EQ(print_json(source),
            R"({"repoURL":"https://git.example.com/kustom.git","path":"deploy/base",)"
            R"("targetRevision":"v4.0","kustomize":{"namespace":"kustom-system"}})");
}

TEST(DeployArgocd, EachApplicationSyncsByItselfAndMakesItsNamespace) {
  const BundleModel model = sample_model();
  for (size_t position = 0; position < model.releases.size(); ++position) {
    const Json json = application_of(model, position);
    EXPECT_TRUE(as_bool(find(json, "spec", "syncPolicy", "automated", "selfHeal")));
    EXPECT_NE(
        print_json(*find(json, "spec", "syncPolicy", "syncOptions")).find("CreateNamespace=true"),
        std::string::npos);
    EXPECT_EQ(text_at(json, "spec", "destination", "namespace"), model.releases[position].ns);
  }
}

TEST(DeployArgocd, TheFirstApplicationFindsTheOthersAndNothingElse) {
  const Json source = *find(yaml_at(bundle(sample_model()), "app-of-apps.yaml"), "spec", "source");
  EXPECT_EQ(text_at(source, "path"), "clusters/one");
  EXPECT_EQ(text_at(source, "directory", "include"), "*/application.yaml");
  EXPECT_TRUE(as_bool(find(source, "directory", "recurse")));
}

// Without it a wave does not wait for the one before.
TEST(DeployArgocd, TheReadmeTeachesTheHealthOfApplications) {
  EXPECT_NE(content(bundle(sample_model()), "README.md").find("health.argoproj.io_Application"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::bundle::deploy_argocd_test
