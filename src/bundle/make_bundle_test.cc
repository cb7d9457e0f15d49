#include "bundle/make_bundle.h"

#include <gtest/gtest.h>

#include "bundle/bundle_test_util.h"
#include "data/json.h"

namespace lockstep::bundle::make_bundle_test {
namespace {

// The order of the contract: each step sees what those before it made.
FileMap files_with_rules() {
  FileMap files = with(
      small_files(),
      {{"derived.yaml",
        "- name: follows\n  from: {component: operator, value: [driver, version]}\n"
        "  to: {component: driver, paths: [[podAnnotations, v]]}\n  when: [operator, driver]\n"}});
  files["registry.yaml"] =
      "kind: ComponentRegistry\ncomponents:\n"
      "  - name: operator\n    valueOverrideKeys: [op]\n"
      "    helm: {defaultRepository: https://charts, defaultChart: operator}\n"
      "    nodeScheduling: {system: {tolerationPaths: [tolerations]}}\n"
      "  - name: driver\n"
      "    helm: {defaultRepository: https://charts, defaultChart: driver, defaultVersion: v9}\n";
  return files;
}

struct Made {
  Result<FinalValues> result;

  std::string values(const std::string& component) const {
    if (!result) return result.error().text();
    auto found = result->values.find(component);
    return found == result->values.end() ? "none" : print_json(found->second);
  }
};

Made values_with(const std::vector<std::string>& settings, std::set<std::string> without = {}) {
  Catalogue catalogue = catalogue_of(files_with_rules());
  auto rules = read_rules(catalogue);
  EXPECT_TRUE(rules.has_value()) << rules.error().text();
  BundleRequest request;
  request.recipe = *resolve(catalogue, {});
  request.without_derived = std::move(without);
  for (const std::string& text : settings) {
    auto setting = parse_setting(text, SettingKind::typed);
    EXPECT_TRUE(setting.has_value()) << setting.error().text();
    request.settings.push_back(*setting);
  }
  return {final_values(catalogue, *rules, request)};
}

TEST(MakeBundle, DerivedValuesSeeWhatWasSet) {
  EXPECT_EQ(values_with({}).values("driver"), R"({"podAnnotations":{"v":"1"}})");
  EXPECT_EQ(values_with({"op:driver.version=7.5.1"}).values("driver"),
            R"({"podAnnotations":{"v":"7.5.1"}})");
  EXPECT_EQ(values_with({}, {"follows"}).values("driver"), "{}");
}

TEST(MakeBundle, SchedulingIsWrittenOverWhatWasSet) {
  EXPECT_EQ(values_with({"op:tolerations=none"}).values("operator"),
            R"({"driver":{"enabled":true,"version":1},"list":["a","b"],)"
            R"("tolerations":[{"operator":"Exists"}]})");
}

TEST(MakeBundle, TheSwitchOfAComponentIsNoValueOfItsChart) {
  EXPECT_EQ(values_with({"driver:enabled=true"}).values("driver"),
            R"({"podAnnotations":{"v":"1"}})");
  Made off = values_with({"driver:enabled=false"});
  EXPECT_EQ(off.values("driver"), "none");
  EXPECT_TRUE(off.result->warnings.empty());
}

TEST(MakeBundle, ASettingThatLooksLikeTheChartsVersionIsSaidToBeNone) {
  EXPECT_TRUE(values_with({"op:driver.version=2"}).result->warnings.empty());
  auto warnings = values_with({"op:version=v2"}).result->warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("The chart's own version is the recipe's"), std::string::npos);
}

TEST(MakeBundle, AnEnabledComponentThatNeedsADisabledOneIsAnError) {
  std::string error = values_with({"op:enabled=false"}).values("driver");
  EXPECT_NE(error.find("driver"), std::string::npos) << error;
  EXPECT_NE(error.find("operator"), std::string::npos) << error;
}

}  // namespace
}  // namespace lockstep::bundle::make_bundle_test
