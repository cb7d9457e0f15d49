// The acceptance list of seed 000 (the durable rollout trigger), by its own words.
#include <gtest/gtest.h>

#include "base/strings.h"
#include "bundle/guardrail.h"
#include "data/json.h"
#include "data/yaml.h"
#include "recipes/recipes_test_util.h"

namespace lockstep::recipes::rollout_trigger_test {
namespace {

constexpr std::string_view annotation = "aicr.nvidia.com/gpu-operator-chart-version";
constexpr std::string_view driver_annotation = "lockstep.dev/driver-version";
constexpr std::string_view plugin = "nvidia-dra-driver-gpu";

std::string annotation_of(const JsonObject& values, std::string_view part, std::string_view key) {
  const Json* of_part = find(values, part);
  return of_part == nullptr ? "" : std::string(text_at(*of_part, "podAnnotations", key));
}

// The request with the operator at another version.
bundle::BundleRequest bumped(std::string_view version) {
  bundle::BundleRequest request = request_for(flagship);
  for (bundle::ComponentRef& component : request.recipe.components) {
    if (component.name == "gpu-operator") component.version = version;
  }
  return request;
}

bool mentions(const bundle::FileMap& files, std::string_view text) {
  for (const auto& [path, content] : files) {
    if (content.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST(RolloutTrigger, ABumpOfTheOperatorChangesBothAnnotationsInTheOutputOfEveryDeployer) {
  auto before = bundles_of(make(bumped("v26.3.1")).model);
  auto after = bundles_of(make(bumped("v26.4.0")).model);
  ASSERT_EQ(before.size(), 5U);
  for (const auto& [deployer, files] : before) {
    for (std::string_view part : {"controller", "kubeletPlugin"}) {
      JsonObject was = values_in(files, std::string(plugin));
      JsonObject is = values_in(after.at(deployer), std::string(plugin));
      EXPECT_EQ(annotation_of(was, part, annotation), "v26.3.1") << deployer << " " << part;
      EXPECT_EQ(annotation_of(is, part, annotation), "v26.4.0") << deployer << " " << part;
    }
  }
}

TEST(RolloutTrigger, ABumpOfTheDriverAloneChangesThemToo) {
  for (const auto& [deployer, files] :
       bundles_of(make(request_for(flagship, {"gpu-operator:driver.version=581.1.2"})).model)) {
    JsonObject values = values_in(files, std::string(plugin));
    EXPECT_EQ(annotation_of(values, "controller", driver_annotation), "581.1.2") << deployer;
    EXPECT_EQ(annotation_of(values, "kubeletPlugin", driver_annotation), "581.1.2") << deployer;
  }
}

TEST(RolloutTrigger, WithTheDraDriverDisabledNothingIsInjectedAnywhereAndNothingIsWarned) {
  bundle::MadeBundle made = make(request_for(flagship, {"dradriver:enabled=false"}));
  EXPECT_EQ(made.warnings, std::vector<std::string>{});
  for (const auto& [deployer, files] : bundles_of(made.model)) {
    EXPECT_FALSE(mentions(files, annotation)) << deployer;
    EXPECT_FALSE(mentions(files, driver_annotation)) << deployer;
  }
}

TEST(RolloutTrigger, IsSourcedFromTheResolvedRecipeByteForByte) {
  for (std::string version : {"v26.3.1", "26.3.1", "v26.10", "26.3.1-rc.1+build"}) {
    JsonObject values;
    for (const bundle::Release& release : make(bumped(version)).model.releases) {
      if (release.name == plugin) values = release.values;
    }
    EXPECT_EQ(annotation_of(values, "kubeletPlugin", annotation), version);
  }
}

TEST(RolloutTrigger, AUsersSettingCannotDefeatIt) {
  std::string path = "kubeletPlugin.podAnnotations.aicr\\.nvidia\\.com/gpu-operator-chart-version";
  for (const auto& [deployer, files] :
       bundles_of(make(request_for(flagship, {"dradriver:" + path + "=mine",
                                              "dradriver:kubeletPlugin.podAnnotations.own=kept"}))
                      .model)) {
    JsonObject values = values_in(files, std::string(plugin));
    EXPECT_EQ(annotation_of(values, "kubeletPlugin", annotation), "v26.3.1") << deployer;
    EXPECT_EQ(annotation_of(values, "kubeletPlugin", "own"), "kept") << deployer;
  }
}

TEST(RolloutTrigger, NoDerivedOnPurposeIsRememberedInTheBundleAndNotFoundFaultWith) {
  bundle::BundleRequest request = request_for(flagship);
  request.without_derived = {"dra-follows-driver"};
  bundle::MadeBundle made = make(request);
  EXPECT_EQ(made.model.recipe.not_derived, std::vector<std::string>{"dra-follows-driver"});
  for (const auto& [deployer, files] : bundles_of(made.model)) {
    EXPECT_FALSE(mentions(files, driver_annotation)) << deployer;
    auto findings = bundle::check_bundle(our_catalogue().rules, files,
                                         our_catalogue().catalogue.words, "bundle");
    ASSERT_TRUE(findings.has_value()) << findings.error().text();
    EXPECT_TRUE(findings->empty()) << deployer << ": " << findings->front().what;
  }
}

TEST(RolloutTrigger, MaintainersFilesCarryNoChartVersionAtAll) {
  auto findings = bundle::check_catalogue(our_catalogue().rules, our_catalogue().catalogue);
  ASSERT_TRUE(findings.has_value()) << findings.error().text();
  EXPECT_TRUE(findings->empty()) << findings->front().place << ": " << findings->front().what;
}

// The guardrail: in the output of every deployer the stale value is found, and said where.
TEST(RolloutTrigger, TheGuardrailFailsWhenTheAnnotationDivergesFromTheResolvedVersion) {
  for (auto& [deployer, files] : bundles_of(make(request_for(flagship)).model)) {
    std::string touched;
    for (auto& [path, content] : files) {
      bool has_values = path.find("nvidia-dra-driver-gpu/") != std::string::npos &&
                        (path.ends_with("/values.yaml") || path.ends_with("/helmrelease.yaml") ||
                         path.ends_with("/application.yaml"));
      size_t at = content.find("chart-version: v26.3.1");
      if (!has_values || at == std::string::npos) continue;
      bundle::FileMap broken = files;
      broken[path].replace(at, 22, "chart-version: v25.0.0");
      auto findings = bundle::check_bundle(our_catalogue().rules, broken,
                                           our_catalogue().catalogue.words, "bundle");
      ASSERT_TRUE(findings.has_value()) << findings.error().text();
      ASSERT_EQ(findings->size(), 1U) << deployer << " " << path;
      EXPECT_EQ(findings->front().place, "bundle/" + path);
      EXPECT_NE(findings->front().what.find("v25.0.0"), std::string::npos);
      EXPECT_NE(findings->front().what.find("v26.3.1"), std::string::npos);
      touched = path;
    }
    EXPECT_NE(touched, "") << deployer;
  }
}

}  // namespace
}  // namespace lockstep::recipes::rollout_trigger_test
