#include "bundle/chart_repositories.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bundle/deployers_test_util.h"
#include "bundle/names.h"

namespace lockstep::bundle::chart_repositories_test {
namespace {

BundleModel model_with(const std::vector<std::string>& repositories) {
  BundleModel model;
  for (const std::string& repository : repositories) {
    Release release;
    release.repository = repository;
    model.releases.push_back(release);
  }
  return model;
}

TEST(ChartRepositories, EachIsThereOnceInTheOrderOfItsUse) {
  const auto repositories = chart_repositories(sample_model());
  ASSERT_EQ(repositories.size(), 2U);
  EXPECT_EQ(repositories[0].name, "charts-example-com-stable");
  EXPECT_FALSE(repositories[0].is_oci);
  EXPECT_EQ(repositories[1].name, "registry-example-com-charts");
  EXPECT_TRUE(repositories[1].is_oci);
  EXPECT_EQ(repository_of(repositories, "oci://registry.example.com/charts").name,
            "registry-example-com-charts");
}

TEST(ChartRepositories, NamesAreLabelsAndNeverTheSame) {
  const std::string longest(200, 'a');
  const auto repositories = chart_repositories(
      model_with({"https://a.b/c", "http://a.b/c", "https://A.B/c/", "oci://a-b-c", "https://$(x)",
                  "https://", "", "https://" + longest, "https://" + longest + "b", "https://é"}));
  std::vector<std::string> names;
  for (const ChartRepository& repository : repositories) {
    EXPECT_TRUE(check_name(repository.name).has_value()) << repository.name;
    names.push_back(repository.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"a-b-c", "a-b-c-2", "a-b-c-3", "a-b-c-4", "x",
                                             "charts", "charts-2", std::string(50, 'a'),
                                             std::string(50, 'a') + "-2", "charts-3"}));
}

TEST(ChartRepositories, ARegistryIsAlsoKnownWithoutItsScheme) {
  EXPECT_EQ(without_oci("oci://ghcr.io/a"), "ghcr.io/a");
  EXPECT_EQ(without_oci("https://ghcr.io/a"), "https://ghcr.io/a");
}

}  // namespace
}  // namespace lockstep::bundle::chart_repositories_test
