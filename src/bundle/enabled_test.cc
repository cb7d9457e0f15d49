#include "bundle/enabled.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "bundle/bundle_test_util.h"

namespace lockstep::bundle::enabled_test {
namespace {

// operator; driver, which depends on it; monitor, with overrides.
Catalogue catalogue_with(const std::string& monitor_overrides) {
  return catalogue_of(with(
      small_files(), {{"overlays/base.yaml",
                       overlay_text("base",
                                    "  componentRefs:\n"
                                    "    - {name: operator, type: Helm, version: v1.0}\n"
                                    "    - {name: driver, type: Helm, dependencyRefs: [operator]}\n"
                                    "    - {name: monitor, type: Helm, overrides: " +
                                        monitor_overrides + "}\n")}}));
}

std::string enabled_of(const std::vector<std::string>& texts,
                       const std::string& monitor_overrides = "{}") {
  Catalogue catalogue = catalogue_with(monitor_overrides);
  auto recipe = resolve(catalogue, {});
  if (!recipe) return recipe.error().text();
  std::vector<Setting> settings;
  for (const std::string& text : texts) {
    settings.push_back(*parse_setting(text, SettingKind::typed));
  }
  auto enabled = without_disabled(*recipe, catalogue.registry, settings);
  if (!enabled) return enabled.error().text();
  std::vector<std::string> names;
  for (const ComponentRef& component : enabled->components) names.push_back(component.name);
  return join(names, " ") + " | " + join(enabled->deployment_order, " ");
}

TEST(Enabled, EverythingIsEnabledUntilSomebodySwitchesItOff) {
  EXPECT_EQ(enabled_of({}), "driver monitor operator | monitor operator driver");
  EXPECT_EQ(enabled_of({}, "{enabled: true}"), enabled_of({}));
  EXPECT_EQ(enabled_of({}, "{enabled: null}"), enabled_of({}));
}

TEST(Enabled, TheRecipeSwitchesOff) {
  EXPECT_EQ(enabled_of({}, "{enabled: false}"), "driver operator | operator driver");
}

TEST(Enabled, SetSwitchesOffByNameAndAlias) {
  EXPECT_EQ(enabled_of({"monitor:enabled=false"}), "driver operator | operator driver");
  EXPECT_EQ(enabled_of({"driver:enabled=false", "op:enabled=false"}), "monitor | monitor");
}

TEST(Enabled, SetHasTheLastWordAndItsLastOneCounts) {
  EXPECT_EQ(enabled_of({"monitor:enabled=true"}, "{enabled: false}"), enabled_of({}));
  EXPECT_EQ(enabled_of({"monitor:enabled=false", "monitor:enabled=true"}), enabled_of({}));
  EXPECT_EQ(enabled_of({"monitor:enabled=true", "monitor:enabled=false"}),
            "driver operator | operator driver");
}

TEST(Enabled, OnlyTheKeyAtTheTopSwitches) {
  EXPECT_EQ(enabled_of({"monitor:agent.enabled=false"}), enabled_of({}));
}

TEST(Enabled, ADisabledComponentThatAnEnabledOneNeedsIsRefused) {
  std::string error = enabled_of({"op:enabled=false"});
  EXPECT_NE(error.find("driver depends on operator, which is disabled (--set op:enabled=false): "
                       "disable driver too (--set driver:enabled=false), or keep operator (--set "
                       "operator:enabled=true)"),
            std::string::npos)
      << error;
  EXPECT_TRUE(error.starts_with("overlays/base.yaml:6:")) << error;
}

TEST(Enabled, AnythingButTrueAndFalseIsRefused) {
  std::string error = enabled_of({}, "{enabled: 'false'}");
  EXPECT_NE(error.find("overrides.enabled of monitor must be true or false, and is \"false\""),
            std::string::npos)
      << error;
  EXPECT_EQ(enabled_of({"monitor:enabled=no"}),
            "--set monitor:enabled=no: enabled must be true or false, and is \"no\"");
  EXPECT_EQ(enabled_of({"monitor:enabled=null"}),
            "--set monitor:enabled=null: enabled must be true or false, and is null");
}

TEST(Enabled, ASettingOfAnUnknownOrAbsentComponentIsRefused) {
  EXPECT_EQ(enabled_of({"monitr:a=1"}),
            "--set monitr:a=1: unknown component \"monitr\"; did you mean \"monitor\"?");
  EXPECT_EQ(enabled_of({"tuning:enabled=false"}),
            "--set tuning:enabled=false: tuning is not in the recipe; there are driver, monitor, "
            "operator");
  EXPECT_EQ(enabled_of({"tuning:a=1"}),
            "--set tuning:a=1: tuning is not in the recipe; there are driver, monitor, operator");
}

TEST(Enabled, NothingLeftIsRefused) {
  EXPECT_EQ(enabled_of({"monitor:enabled=false", "driver:enabled=false", "op:enabled=false"}),
            "every component of the recipe is disabled: there is nothing to deploy");
}

}  // namespace
}  // namespace lockstep::bundle::enabled_test
