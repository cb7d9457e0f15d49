#include "bundle/registry.h"

#include <gtest/gtest.h>

namespace lockstep::bundle::registry_test {
namespace {

Result<void> add(Registry& registry, const std::string& components) {
  LOCKSTEP_TRY(
      YamlFile file,
      YamlFile::parse("registry.yaml", "kind: ComponentRegistry\ncomponents:\n" + components));
  return registry.add(file);
}

std::string error_of(const std::string& components) {
  Registry registry;
  auto added = add(registry, components);
  return added ? "" : added.error().text();
}

TEST(Registry, ReadsAnEntry) {
  Registry registry;
  auto added = add(registry, R"(
  - name: gpu-operator
    displayName: GPU operator
    valueOverrideKeys: [gpuoperator, gpu-operator]
    healthCheck: {assertFile: checks/x.yaml}
    helm: {defaultRepository: https://r, defaultChart: nvidia/gpu-operator, defaultVersion: 1.10,
           defaultNamespace: gpu}
    nodeScheduling:
      nodeCountPaths: [count]
      system: {nodeSelectorPaths: [a.b], tolerationPaths: [c]}
      accelerated: {taintPaths: [d], taintStrPaths: [e]}
    podScheduling: {workload: {workloadSelectorPaths: [w]}}
    validations:
      - {function: Check, severity: warning, conditions: {intent: [training, inference]}, message: m}
    storageClassPaths: [later]
  - name: thing
    kustomize: {defaultSource: https://git, defaultPath: p, defaultTag: v1}
)");
  ASSERT_TRUE(added.has_value()) << added.error().text();
  const Component& component = *registry.find("gpu-operator");
  EXPECT_EQ(component.place.text(), "registry.yaml:4:5");
  EXPECT_EQ(component.display_name, "GPU operator");
  EXPECT_EQ(component.type, ComponentType::helm);
  EXPECT_EQ(component.helm.version, "1.10");
  EXPECT_EQ(component.helm.ns, "gpu");
  EXPECT_EQ(component.health_check_file, "checks/x.yaml");
  EXPECT_EQ(component.node_count_paths, std::vector<std::string>{"count"});
  EXPECT_EQ(component.system.node_selectors, std::vector<std::string>{"a.b"});
  EXPECT_EQ(component.system.tolerations, std::vector<std::string>{"c"});
  EXPECT_EQ(component.accelerated.taints, std::vector<std::string>{"d"});
  EXPECT_EQ(component.accelerated.taint_texts, std::vector<std::string>{"e"});
  EXPECT_EQ(component.workload_selector_paths, std::vector<std::string>{"w"});
  ASSERT_EQ(component.checks.size(), 1u);
  EXPECT_EQ(component.checks[0].conditions.at("intent"),
            (std::vector<std::string>{"training", "inference"}));
  const Component& thing = *registry.find("thing");
  EXPECT_EQ(thing.type, ComponentType::kustomize);
  EXPECT_EQ(thing.kustomize.tag, "v1");
  EXPECT_EQ(to_string(thing.type), "Kustomize");
}

TEST(Registry, FindsByNameAndAlias) {
  Registry registry;
  ASSERT_TRUE(add(registry, "  - {name: gpu-operator, valueOverrideKeys: [gpuoperator]}\n"));
  EXPECT_EQ((*registry.named("gpuoperator"))->name, "gpu-operator");
  EXPECT_EQ((*registry.named("gpu-operator"))->name, "gpu-operator");
  EXPECT_EQ(registry.find("gpuoperator"), nullptr) << "recipes use names alone";
  EXPECT_EQ(registry.named("gpu-opreator").error().message,
            "unknown component \"gpu-opreator\"; did you mean \"gpu-operator\"?");
}

TEST(Registry, ALayerAboveReplacesAComponentWhole) {
  Registry registry;
  ASSERT_TRUE(
      add(registry, "  - {name: a, displayName: A, valueOverrideKeys: [x]}\n  - {name: b}\n"));
  ASSERT_TRUE(add(registry, "  - {name: a, helm: {defaultVersion: v2}}\n"));
  EXPECT_EQ(registry.components().size(), 2u);
  EXPECT_EQ(registry.find("a")->display_name, "");
  EXPECT_EQ(registry.find("a")->helm.version, "v2");
  EXPECT_FALSE(registry.named("x").has_value()) << "its aliases go with it";
}

TEST(Registry, RefusesWhatIsWrong) {
  EXPECT_EQ(error_of("  - name: a\n    hlem: {}\n"),
            "registry.yaml:4:5: components[0].hlem: unknown field; did you mean \"helm\"?");
  EXPECT_EQ(error_of("  - name: a\n    helm: {defaultVerison: v1}\n"),
            "registry.yaml:4:12: components[0].helm.defaultVerison: unknown field; did you mean "
            "\"defaultVersion\"?");
  EXPECT_EQ(
      error_of("  - name: a\n  - name: a\n"),
      "registry.yaml:4:5: components[1].name: \"a\" is also at registry.yaml:3:5; choose another "
      "name");
  EXPECT_NE(error_of("  - name: ../a\n").find("lower-case letters"), std::string::npos);
  EXPECT_NE(error_of("  - {name: a, helm: {defaultNamespace: ../b}}\n").find("lower-case letters"),
            std::string::npos);
  EXPECT_NE(error_of("  - displayName: a\n").find("name: is missing"), std::string::npos);
  EXPECT_NE(error_of("  - {name: a, helm: {}, kustomize: {}}\n").find("remove one of the two"),
            std::string::npos);
  EXPECT_NE(
      error_of("  - {name: a, valueOverrideKeys: [x]}\n  - {name: b, valueOverrideKeys: [x]}\n")
          .find("is taken by a"),
      std::string::npos);
  EXPECT_NE(error_of("  - {name: a, valueOverrideKeys: [b]}\n  - {name: b}\n").find("taken by b"),
            std::string::npos);
  EXPECT_NE(error_of("  - {name: a, validations: [{function: f, severity: bad}]}\n")
                .find("expected one of: warning, error"),
            std::string::npos);
  EXPECT_NE(
      error_of(
          "  - {name: a, validations: [{function: f, severity: error, conditions: {intent: x}}]}\n")
          .find("conditions.intent: must be a list, not a string"),
      std::string::npos);
  Registry registry;
  EXPECT_FALSE(registry.add(*YamlFile::parse("r.yaml", "kind: Other\n")).has_value());
}

}  // namespace
}  // namespace lockstep::bundle::registry_test
