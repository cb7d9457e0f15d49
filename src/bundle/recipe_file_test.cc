#include "bundle/recipe_file.h"

#include <gtest/gtest.h>

#include "bundle/bundle_test_util.h"
#include "data/yaml.h"

namespace lockstep::bundle::recipe_file_test {
namespace {

Result<ResolvedRecipe> read(const std::string& text) {
  Catalogue catalogue = catalogue_of(small_files());
  LOCKSTEP_TRY(YamlFile file, YamlFile::parse("recipe.yaml", text));
  return read_recipe(file, catalogue.words);
}

TEST(RecipeFile, WhatWasPrintedReadsBackAsTheSameRecipe) {
  auto recipe = resolve(catalogue_of(small_files()), {.service = "eks"});
  ASSERT_TRUE(recipe.has_value());
  std::string printed = print_yaml(to_json(*recipe));
  auto again = read(printed);
  ASSERT_TRUE(again.has_value()) << again.error().text();
  EXPECT_EQ(print_yaml(to_json(*again)), printed);
}

TEST(RecipeFile, AnOrderThatIsNotSaidIsMade) {
  auto recipe = read(
      "kind: RecipeResult\ncomponentRefs:\n"
      "  - {name: b, type: Helm, chart: b, version: v1}\n"
      "  - {name: a, type: Helm, chart: a, version: v1, dependencyRefs: [b]}\n");
  ASSERT_TRUE(recipe.has_value()) << recipe.error().text();
  EXPECT_EQ(recipe->deployment_order, (std::vector<std::string>{"b", "a"}));
}

TEST(RecipeFile, SaysWhatIsWrongAndWhere) {
  struct Case {
    std::string text;
    std::string error;
  };
  const std::string head =
      "kind: RecipeResult\ncomponentRefs:\n"
      "  - {name: a, type: Helm, chart: a, version: v1, dependencyRefs: [b]}\n"
      "  - {name: b, type: Helm, chart: b, version: v1}\n";
  const std::vector<Case> cases = {
      {"kind: Recipe\n",
       "recipe.yaml:1:1: kind: must be RecipeResult, not \"Recipe\"; make one with \"lockstep "
       "recipe -o yaml\""},
      {"kind: RecipeResult\ncomponentRefs: []\n", "recipe.yaml: the recipe has no component"},
      {"kind: RecipeResult\ncomponentRefs:\n  - {name: a, type: Helm, chart: a}\n",
       "recipe.yaml:3:5: a has no version"},
      {head + "deploymentOrder: [a, b]\n",
       "recipe.yaml: deploymentOrder has a before b, which it depends on"},
      {head + "deploymentOrder: [b]\n", "recipe.yaml: deploymentOrder lacks a"},
      {head + "deploymentOrder: [b, b, a]\n", "recipe.yaml: deploymentOrder names b twice"},
      {head + "deploymentOrder: [b, a, c]\n",
       "recipe.yaml: deploymentOrder names c, which is not in componentRefs"},
      {"kind: RecipeResult\ncomponentRefs:\n  - {name: ../up, type: Helm, chart: a, version: v1}\n",
       "recipe.yaml:3:5: name: must be 1 to 63 lower-case letters, digits and \"-\", beginning and "
       "ending with a letter or digit, not \"../up\""},
  };
  for (const Case& c : cases) {
    auto recipe = read(c.text);
    ASSERT_FALSE(recipe.has_value()) << c.text;
    EXPECT_EQ(recipe.error().text(), c.error);
  }
}

}  // namespace
}  // namespace lockstep::bundle::recipe_file_test
