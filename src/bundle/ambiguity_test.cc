#include "bundle/ambiguity.h"

#include <gtest/gtest.h>

namespace lockstep::bundle::ambiguity_test {
namespace {

Overlay overlay(std::string name, std::string spec) {
  auto file = YamlFile::parse("overlays/" + name + ".yaml",
                              "kind: RecipeMetadata\nmetadata: {name: " + name +
                                  "}\nspec:\n  criteria: {nodes: 1}\n" + spec);
  auto read = read_overlay(*file, {});
  EXPECT_TRUE(read.has_value()) << read.error().text();
  return *read;
}

std::string error_of(std::string a, std::string b) {
  auto done = refuse_disagreement(overlay("a", std::move(a)), overlay("b", std::move(b)));
  return done ? "" : done.error().text();
}

TEST(Ambiguity, IsTheSameFieldWithDifferentValues) {
  EXPECT_EQ(error_of("  componentRefs: [{name: x, version: v1}]\n",
                     "  componentRefs: [{name: x, version: v2}]\n"),
            "overlays/b.yaml: the overlays a and b are equally specific and disagree: version of x "
            "is \"v1\" in the first and \"v2\" in the second; let one be the base of the other, or "
            "say it in one of them");
  for (auto [a, b, field] : std::vector<std::array<std::string, 3>>{
           {"  constraints: [{name: c, value: '1'}]\n", "  constraints: [{name: c, value: '2'}]\n",
            "the constraint c"},
           {"  componentRefs: [{name: x, overrides: {k: {a: 1}}}]\n",
            "  componentRefs: [{name: x, overrides: {k: {a: 2}}}]\n", "overrides.k of x"},
           {"  componentRefs: [{name: x, dependencyRefs: [p]}]\n",
            "  componentRefs: [{name: x, dependencyRefs: [q]}]\n", "dependencyRefs of x"},
           {"  validation: {deployment: {checks: [p]}}\n",
            "  validation: {deployment: {checks: [q]}}\n", "validation.deployment"},
       }) {
    EXPECT_NE(error_of(a, b).find(field), std::string::npos) << error_of(a, b);
  }
}

TEST(Ambiguity, IsNotWhatAgreesOrIsUnitedOrIsElsewhere) {
  for (auto [a, b] : std::vector<std::array<std::string, 2>>{
           {"  componentRefs: [{name: x, version: v1}]\n",
            "  componentRefs: [{name: x, version: v1, source: s}]\n"},
           {"  componentRefs: [{name: x, version: v1}]\n",
            "  componentRefs: [{name: y, version: v2}]\n"},
           {"  componentRefs: [{name: x, manifestFiles: [p]}]\n",
            "  componentRefs: [{name: x, manifestFiles: [q]}]\n"},
           {"  componentRefs: [{name: x, overrides: {k: 1}}]\n",
            "  componentRefs: [{name: x, overrides: {l: 2}}]\n"},
           {"", ""},
       }) {
    EXPECT_EQ(error_of(a, b), "");
  }
}

}  // namespace
}  // namespace lockstep::bundle::ambiguity_test
