#include "bundle/release_files.h"

#include <string>

#include <gtest/gtest.h>

#include "bundle/deployers_test_util.h"

namespace lockstep::bundle::release_files_test {
namespace {

BundleFiles folders_of(const BundleModel& model, bool install_local_charts = false) {
  BundleFiles files;
  add_release_folders(files, model, install_local_charts);
  return files;
}

TEST(ReleaseFiles, AnUpstreamChartIsNamedWithItsExactVersion) {
  const BundleFiles files = folders_of(sample_model());
  EXPECT_NE(content(files, "001-certificates/upstream.env")
                .find("\nCHART=certificates\nREPO=https://charts.example.com/stable\n"
                      "VERSION=v1.2.3\n"),
            std::string::npos);
  EXPECT_TRUE(files.at("001-certificates/install.sh").executable);
  EXPECT_TRUE(files.contains("001-certificates/values.yaml"));
  EXPECT_FALSE(files.contains("001-certificates/Chart.yaml"));
}

TEST(ReleaseFiles, ALocalChartIsInstalledByAScriptOnlyWhereOneRunsIt) {
  EXPECT_FALSE(folders_of(sample_model(), false).contains("004-operator-post/install.sh"));
  const BundleFiles files = folders_of(sample_model(), true);
  EXPECT_TRUE(files.contains("004-operator-post/install.sh"));
  const Json chart = yaml_at(files, "004-operator-post/Chart.yaml");
  EXPECT_EQ(text_at(chart, "name"), "operator-post");
  EXPECT_EQ(text_at(chart, "apiVersion"), "v2");
  EXPECT_TRUE(files.contains("004-operator-post/templates/job.yaml"));
}

TEST(ReleaseFiles, AKustomizationNamesItsSourceAtItsTag) {
  const BundleFiles files = folders_of(sample_model());
  const Json json = yaml_at(files, "005-kustom/kustomization.yaml");
  EXPECT_EQ(text_at(json, "namespace"), "kustom-system");
  EXPECT_EQ(find(json, "resources")->as_array().at(0).as_string(),
            "https://git.example.com/kustom.git//deploy/base?ref=v4.0");
  EXPECT_FALSE(files.contains("005-kustom/values.yaml")) << "kustomize has no values";
}

TEST(ReleaseFiles, AKustomizeSourceMayLackPathAndTag) {
  Release release = sample_model().releases[4];
  release.path = "/a/b";
  release.tag = "release/1 2";
  EXPECT_EQ(kustomize_url(release), "https://git.example.com/kustom.git//a/b?ref=release%2F1%202");
  release.path = release.tag = "";
  EXPECT_EQ(kustomize_url(release), "https://git.example.com/kustom.git");
}

TEST(ReleaseFiles, NoValuesAreAnEmptyMap) {
  Release release = sample_model().releases[0];
  release.values = {};
  const auto json = parse_yaml(values_file(release));
  EXPECT_TRUE(json->is_object()) << values_file(release);
}

TEST(ReleaseFiles, TheReadmeShowsTextAsText) {
  EXPECT_EQ(markdown_text("a|b `c` <d> [e](f) {{g}} *h* \n i"),
            "a\\|b \\`c\\` \\<d\\> \\[e\\]\\(f\\) \\{\\{g\\}\\} \\*h\\*   i");
  BundleFiles files;
  add_recipe_and_readme(files, nasty_model(), "Title", {"First.", "Second."});
  const std::string& readme = content(files, "README.md");
  EXPECT_TRUE(readme.starts_with("# Title\n\n1. First.\n2. Second.\n"));
  EXPECT_EQ(readme.find("<b>"), std::string::npos);
  EXPECT_EQ(readme.find("\nsecond"), std::string::npos) << "a name has broken out of its row";
}

TEST(ReleaseFiles, PathsInGitAreJoinedHoweverTheyAreWritten) {
  struct Case {
    std::string path;
    std::string folder;
    std::string expected;
  };
  const Case cases[] = {{"", "x", "x"},        {"", "", "."},        {".", "x", "x"},
                        {"a/b", "x", "a/b/x"}, {"./a/", "x", "a/x"}, {"/a", "", "a"},
                        {"./", "", "."}};
  for (const Case& test : cases) {
    BundleModel model;
    model.git_path = test.path;
    EXPECT_EQ(path_in_git(model, test.folder), test.expected) << test.path;
  }
}

TEST(ReleaseFiles, APlaceholderIsSaid) {
  BundleModel model = sample_model();
  EXPECT_TRUE(placeholder_step(model).empty());
  EXPECT_EQ(git_repository_of(model), "https://git.example.com/fleet.git");
  model.git_repository = "";
  EXPECT_EQ(git_repository_of(model), git_placeholder);
  EXPECT_EQ(placeholder_step(model).size(), 1U);
}

}  // namespace
}  // namespace lockstep::bundle::release_files_test
