#include "bundle/rule_files.h"

#include <gtest/gtest.h>

#include "bundle/bundle_test_util.h"

namespace lockstep::bundle::rule_files_test {
namespace {

const Registry& registry() {
  static const Catalogue catalogue = catalogue_of(small_files());
  return catalogue.registry;
}

template <typename Read>
std::string error_of(const std::string& text, Read read) {
  auto file = YamlFile::parse("rules.yaml", text);
  if (!file) return file.error().text();
  auto rules = read(*file, &registry());
  return rules ? "" : rules.error().text();
}

std::string derived_error(const std::string& text) {
  return error_of(text, [](const YamlFile& file, const Registry* known) -> Result<void> {
    LOCKSTEP_TRY(auto rules, read_derived_rules(file, known));
    return check_independence(rules);
  });
}
std::string release_error(const std::string& text) { return error_of(text, read_release_rules); }
std::string hook_error(const std::string& text) { return error_of(text, read_hook_rules); }

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

constexpr auto follows =
    "- name: driver-follows-operator\n"
    "  from: {component: operator, field: version}\n"
    "  to: {component: driver, paths: [[controller, podAnnotations, a.b/c], [plugin, x]]}\n"
    "  when: [operator, driver]\n";

TEST(DerivedRules, ARuleSaysWhatFollowsWhat) {
  auto rules = read_derived_rules(*YamlFile::parse("derived.yaml", follows), &registry());
  ASSERT_TRUE(rules.has_value()) << rules.error().text();
  ASSERT_EQ(rules->size(), 1U);
  const DerivedRule& rule = rules->front();
  EXPECT_EQ(rule.name, "driver-follows-operator");
  EXPECT_EQ(rule.from_component, "operator");
  EXPECT_EQ(rule.source, DerivedSource::version);
  EXPECT_FALSE(rule.optional);
  EXPECT_EQ(rule.to_component, "driver");
  EXPECT_EQ(rule.to_paths,
            (std::vector<ValuePath>{{"controller", "podAnnotations", "a.b/c"}, {"plugin", "x"}}));
  EXPECT_EQ(rule.when, (std::vector<std::string>{"operator", "driver"}));
  EXPECT_EQ(rule.place.text(), "derived.yaml:1:3");
}

TEST(DerivedRules, ARuleMayFollowANamespaceOrAValue) {
  auto rules = read_derived_rules(
      *YamlFile::parse("derived.yaml",
                       "- {name: a, from: {component: operator, field: namespace},\n"
                       "   to: {component: driver, paths: [[a]]}}\n"
                       "- {name: b, from: {component: operator, value: [driver, version]},\n"
                       "   optional: true, to: {component: driver, paths: [[b]]}}\n"),
      &registry());
  ASSERT_TRUE(rules.has_value()) << rules.error().text();
  EXPECT_EQ((*rules)[0].source, DerivedSource::ns);
  EXPECT_EQ((*rules)[1].source, DerivedSource::value);
  EXPECT_EQ((*rules)[1].from_value, (ValuePath{"driver", "version"}));
  EXPECT_TRUE((*rules)[1].optional);
}

TEST(DerivedRules, AnUnknownKeyIsRefusedWithItsPlaceAndTheNearest) {
  EXPECT_EQ(derived_error("- name: a\n  form: {}\n"),
            "rules.yaml:2:3: [0].form: unknown field; did you mean \"from\"?");
  EXPECT_TRUE(has(derived_error("- name: a\n  from: {component: operator, feild: version}\n"),
                  "did you mean \"field\"?"));
  EXPECT_TRUE(has(derived_error("- name: a\n  from: {component: operator, field: version}\n"
                                "  to: {component: driver, path: [[a]]}\n"),
                  "did you mean \"paths\"?"));
}

TEST(DerivedRules, WhatIsMissingIsRefused) {
  EXPECT_TRUE(has(derived_error("- {}\n"), "name: is missing"));
  EXPECT_TRUE(has(derived_error("- {name: a}\n"), "from: is missing"));
  EXPECT_TRUE(has(derived_error("- {name: a, from: {component: operator, field: version}}\n"),
                  "to: is missing"));
  EXPECT_TRUE(has(derived_error("- {name: a, from: {component: operator, field: version},\n"
                                "   to: {component: driver}}\n"),
                  "paths: is missing"));
  EXPECT_TRUE(has(derived_error("- {name: a, from: {field: version}}\n"), "component: is missing"));
}

TEST(DerivedRules, ASourceIsAFieldOrAValue) {
  EXPECT_TRUE(
      has(derived_error("- {name: a, from: {component: operator}}\n"), "field: is missing"));
  EXPECT_TRUE(
      has(derived_error("- {name: a, from: {component: operator, field: version, value: [a]}}\n"),
          "value: cannot be set together with field"));
  EXPECT_TRUE(has(derived_error("- {name: a, from: {component: operator, field: verison}}\n"),
                  "from.field: unknown value \"verison\"; did you mean \"version\"?"));
  EXPECT_TRUE(has(derived_error("- {name: a, from: {component: operator, value: []}}\n"),
                  "must be a list of keys"));
}

TEST(DerivedRules, PathsAreListsOfKeys) {
  for (std::string_view paths : {"a.b", "[]", "[a]", "[[]]", "[[a, '']]", "[[[a]]]", "{a: b}"}) {
    std::string error = derived_error(
        "- {name: a, from: {component: operator, field: version},\n   to: {component: "
        "driver, paths: " +
        std::string(paths) + "}}\n");
    EXPECT_TRUE(has(error, "rules.yaml:2:") && has(error, "to.paths")) << error;
  }
}

TEST(DerivedRules, AKeyIsTakenAsItIsWritten) {
  auto rules = read_derived_rules(
      *YamlFile::parse("derived.yaml",
                       "- {name: a, from: {component: operator, value: [on, 1.10]},\n"
                       "   to: {component: driver, paths: [[x, y], [yes, 017]]}}\n"),
      &registry());
  ASSERT_TRUE(rules.has_value()) << rules.error().text();
  EXPECT_EQ(rules->front().from_value, (ValuePath{"on", "1.10"}));
  EXPECT_EQ(rules->front().to_paths, (std::vector<ValuePath>{{"x", "y"}, {"yes", "017"}}));
}

TEST(DerivedRules, AComponentThatIsNotInTheRegistryIsRefused) {
  EXPECT_TRUE(has(derived_error("- {name: a, from: {component: operatr, field: version}}\n"),
                  "component: unknown component \"operatr\"; did you mean \"operator\"?"));
  EXPECT_TRUE(has(derived_error("- {name: a, when: [drivr]}\n"), "did you mean \"driver\"?"));
}

TEST(DerivedRules, NamesStandOnce) {
  EXPECT_TRUE(has(derived_error(std::string(follows) + follows),
                  "\"driver-follows-operator\" is also at rules.yaml:1:3"));
  EXPECT_TRUE(has(derived_error("- {name: all}\n"), "must not be all"));
  EXPECT_TRUE(has(derived_error("- {name: A b}\n"), "must be 1 to 63 lower-case letters"));
}

TEST(DerivedRules, NoValueIsDerivedTwice) {
  std::string rule = "from: {component: operator, field: version}, to: {component: driver, paths: ";
  EXPECT_TRUE(has(
      derived_error("- {name: a, " + rule + "[[x, y]]}}\n- {name: b, " + rule + "[[z], [x]]}}\n"),
      "a and b both derive x of driver"));
  EXPECT_EQ(
      derived_error("- {name: a, " + rule + "[[x, y]]}}\n- {name: b, " + rule + "[[x, z]]}}\n"),
      "");
}

TEST(DerivedRules, TwoComponentsMayHaveTheSamePath) {
  EXPECT_EQ(derived_error("- {name: a, from: {component: operator, field: version},\n"
                          "   to: {component: driver, paths: [[x]]}}\n"
                          "- {name: b, from: {component: operator, field: version},\n"
                          "   to: {component: monitor, paths: [[x]]}}\n"),
            "");
}

TEST(DerivedRules, NoRuleFollowsWhatAnotherDerives) {
  EXPECT_EQ(derived_error("- {name: a, from: {component: operator, field: version},\n"
                          "   to: {component: driver, paths: [[x]]}}\n"
                          "- {name: b, from: {component: driver, value: [x]},\n"
                          "   to: {component: monitor, paths: [[y]]}}\n"),
            "rules.yaml:3:3: b follows x, which a derives: let it follow what that follows");
}

TEST(RuleFiles, AFileIsAListOfMaps) {
  EXPECT_EQ(derived_error(""), "");
  EXPECT_EQ(derived_error("[]"), "");
  EXPECT_EQ(derived_error("name: a\n"),
            "rules.yaml:1:1: must be a list of maps, each beginning with \"- \", not a map");
  EXPECT_TRUE(has(derived_error("- text\n"), "must be a map, not a string"));
  EXPECT_TRUE(has(release_error("a: b\n"), "must be a list of maps"));
  EXPECT_TRUE(has(hook_error("a: b\n"), "must be a list of maps"));
}

TEST(ReleaseRules, ARuleSaysHowToWait) {
  auto rules = read_release_rules(
      *YamlFile::parse("releases.yaml",
                       "- {component: operator, wait: false, waitForJobs: true, timeout: 1h30m}\n"
                       "- {component: driver, timeout: 90s}\n"),
      &registry());
  ASSERT_TRUE(rules.has_value()) << rules.error().text();
  EXPECT_EQ((*rules)[0].wait, false);
  EXPECT_EQ((*rules)[0].wait_for_jobs, true);
  EXPECT_EQ((*rules)[0].timeout_seconds, 5400);
  EXPECT_EQ((*rules)[1].component, "driver");
  EXPECT_EQ((*rules)[1].wait, std::nullopt);
  EXPECT_EQ((*rules)[1].wait_for_jobs, std::nullopt);
  EXPECT_EQ((*rules)[1].timeout_seconds, 90);
}

TEST(ReleaseRules, ATimeoutIsATimeOfWholeSeconds) {
  for (std::string_view bad : {"15", "soon", "0s", "-1m", "1.5s", "100ms", "15 m"}) {
    EXPECT_TRUE(has(release_error("- {component: operator, timeout: " + std::string(bad) + "}\n"),
                    "must be a duration of whole seconds such as 90s or 1h30m"))
        << bad;
  }
}

TEST(ReleaseRules, WhatIsWrongIsRefused) {
  EXPECT_TRUE(
      has(release_error("- {component: operator, timout: 1m}\n"), "did you mean \"timeout\"?"));
  EXPECT_TRUE(has(release_error("- {wait: true}\n"), "component: is missing"));
  EXPECT_TRUE(
      has(release_error("- {component: operator, wait: 'yes'}\n"), "wait: must be true or false"));
  EXPECT_TRUE(has(release_error("- {component: operator}\n- {component: operator}\n"),
                  "\"operator\" is also at"));
  EXPECT_TRUE(has(release_error("- {component: nobody}\n"), "unknown component"));
}

constexpr auto hook =
    "- name: reroll\n"
    "  component: operator\n"
    "  when: [driver]\n"
    "  after: [driver, monitor]\n"
    "  values: postInstallHooks\n"
    "  defaults: components/operator/hook.yaml\n"
    "  manifests: [components/operator/hooks/job.yaml]\n"
    "  timeout: 30m\n"
    "  restart:\n"
    "    pluginNamespace: {component: driver}\n"
    "    pluginSelector: app=plugin,part=a\n"
    "    driverNamespace: {component: operator}\n"
    "    driverSelector: app=driver\n"
    "    driverTimeout: 20m\n";

TEST(HookRules, ARuleSaysWhatRunsWhen) {
  auto rules = read_hook_rules(*YamlFile::parse("hooks.yaml", hook), &registry());
  ASSERT_TRUE(rules.has_value()) << rules.error().text();
  const HookRule& rule = rules->front();
  EXPECT_EQ(rule.name, "reroll");
  EXPECT_EQ(rule.component, "operator");
  EXPECT_EQ(rule.when, std::vector<std::string>{"driver"});
  EXPECT_EQ(rule.after, (std::vector<std::string>{"driver", "monitor"}));
  EXPECT_EQ(rule.values_key, "postInstallHooks");
  EXPECT_EQ(rule.defaults_file, "components/operator/hook.yaml");
  EXPECT_EQ(rule.manifest_files, std::vector<std::string>{"components/operator/hooks/job.yaml"});
  EXPECT_EQ(rule.timeout_seconds, 1800);
  ASSERT_TRUE(rule.restart.has_value());
  EXPECT_EQ(rule.restart->plugin_component, "driver");
  EXPECT_EQ(rule.restart->plugin_selector, "app=plugin,part=a");
  EXPECT_EQ(rule.restart->driver_component, "operator");
  EXPECT_EQ(rule.restart->driver_selector, "app=driver");
  EXPECT_EQ(rule.restart->driver_seconds, 1200);
  EXPECT_EQ(rule.restart->plugin_seconds, std::nullopt);
}

TEST(HookRules, AHookNeedsNoRestart) {
  auto rules = read_hook_rules(
      *YamlFile::parse(
          "hooks.yaml",
          "- {name: a, component: operator, manifests: [f], values: k, defaults: d}\n"),
      &registry());
  ASSERT_TRUE(rules.has_value()) << rules.error().text();
  EXPECT_FALSE(rules->front().restart.has_value());
}

TEST(HookRules, WhatIsWrongIsRefused) {
  std::string start = "- {name: a, component: operator, manifests: [f], values: k, defaults: d, ";
  EXPECT_TRUE(has(hook_error(start + "befor: []}\n"), "befor: unknown field"));
  EXPECT_TRUE(has(hook_error(start + "after: [drivr]}\n"), "did you mean \"driver\"?"));
  EXPECT_TRUE(has(hook_error(start + "restart: {pluginSelector: a}}\n"), "is missing"));
  EXPECT_TRUE(has(hook_error(start + "restart: {pluginNamespace: {component: nobody}}}\n"),
                  "unknown component"));
  EXPECT_TRUE(has(hook_error("- {name: a, component: operator}\n"), "manifests: is missing"));
  EXPECT_TRUE(
      has(hook_error("- {name: a, component: operator, manifests: []}\n"), "must name a file"));
  EXPECT_TRUE(has(hook_error(std::string(hook) + hook), "\"reroll\" is also at"));
}

}  // namespace
}  // namespace lockstep::bundle::rule_files_test
