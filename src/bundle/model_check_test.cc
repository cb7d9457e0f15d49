#include "bundle/model_check.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "bundle/deployers_test_util.h"

namespace lockstep::bundle::model_check_test {
namespace {

TEST(ModelCheck, AGoodTableAndANastyOneAreTaken) {
  EXPECT_TRUE(check_model(sample_model()).has_value());
  const auto nasty = check_model(nasty_model());
  EXPECT_TRUE(nasty.has_value()) << nasty.error().text();
}

// Positions of sample_model(): 0 and 1 upstream, 2 from a registry, 3 local, 4 kustomize.
TEST(ModelCheck, RefusesWhatNoDeployerCanWriteSafely) {
  struct Case {
    std::string error;  // a part of it
    std::function<void(BundleModel&)> spoil;
  };
  const Case cases[] = {
      {"no component is left", [](BundleModel& m) { m.releases.clear(); }},
      {"must be 1 to 63", [](BundleModel& m) { m.releases[0].name = "../x"; }},
      {"must be 1 to 63", [](BundleModel& m) { m.releases[0].name = "$(id)"; }},
      {"Helm allows 53", [](BundleModel& m) { m.releases[4].name = std::string(54, 'a'); }},
      {"bundle itself", [](BundleModel& m) { m.releases[4].name = "lockstep-bundle"; }},
      {"two releases", [](BundleModel& m) { m.releases[4].name = "plugin"; }},
      {"namespace", [](BundleModel& m) { m.releases[0].ns = ""; }},
      {"namespace", [](BundleModel& m) { m.releases[4].ns = "a b"; }},
      {"the version is empty", [](BundleModel& m) { m.releases[0].version = ""; }},
      {"the repository is empty", [](BundleModel& m) { m.releases[0].repository = ""; }},
      {"the chart is empty", [](BundleModel& m) { m.releases[0].chart = ""; }},
      {"the source is empty", [](BundleModel& m) { m.releases[4].source = ""; }},
      {"line break", [](BundleModel& m) { m.releases[0].version = "v1\nX=1"; }},
      {"takes for a template", [](BundleModel& m) { m.releases[0].version = "v{{ 1 }}"; }},
      {"line break", [](BundleModel& m) { m.releases[4].tag = std::string("a\0b", 3); }},
      {"broken UTF-8", [](BundleModel& m) { m.releases[0].chart = "\xff"; }},
      {"begins with '-'", [](BundleModel& m) { m.releases[0].chart = "--post-renderer=x"; }},
      {"no name of a file", [](BundleModel& m) { m.releases[3].templates["../x"] = ""; }},
      {"no name of a file", [](BundleModel& m) { m.releases[3].templates[".."] = ""; }},
      {"line break", [](BundleModel& m) { m.releases[3].templates["a\nb"] = ""; }},
      {"does not come before", [](BundleModel& m) { m.releases[0].needs = {"plugin"}; }},
      {"does not come before", [](BundleModel& m) { m.releases[2].needs = {"plugin"}; }},
      {"above zero", [](BundleModel& m) { m.releases[0].timeout_seconds = 0; }},
      {"no such release", [](BundleModel& m) { m.restarts[0].release = "gone"; }},
      {"selector of the pods is empty", [](BundleModel& m) { m.restarts[0].plugin_selector = ""; }},
      {"line break", [](BundleModel& m) { m.restarts[0].driver_selector = "a\n"; }},
      {"must be 1 to 63", [](BundleModel& m) { m.restarts[0].driver_namespace = "$(id)"; }},
      {"above zero", [](BundleModel& m) { m.restarts[0].plugin_seconds = 0; }},
      {"Git repository", [](BundleModel& m) { m.git_repository = "a\nb"; }},
      {"Git revision", [](BundleModel& m) { m.git_revision = "-x"; }},
  };
  for (const Case& test : cases) {
    BundleModel model = sample_model();
    test.spoil(model);
    const auto result = check_model(model);
    ASSERT_FALSE(result.has_value()) << test.error;
    EXPECT_NE(result.error().text().find(test.error), std::string::npos) << result.error().text();
  }
}

TEST(ModelCheck, TheErrorNamesTheRelease) {
  BundleModel model = sample_model();
  model.releases[1].version = "";
  EXPECT_EQ(check_model(model).error().place, "release operator");
}

TEST(ModelCheck, KustomizeMayLeaveTheNamespaceToItsManifests) {
  BundleModel model = sample_model();
  model.releases[4].ns = "";
  EXPECT_TRUE(check_model(model).has_value());
}

}  // namespace
}  // namespace lockstep::bundle::model_check_test
