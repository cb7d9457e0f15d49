#include "bundle/overlay.h"

#include <gtest/gtest.h>

namespace lockstep::bundle::overlay_test {
namespace {

CriteriaWords words() {
  CriteriaWords words;
  EXPECT_TRUE(words.add(
      *YamlFile::parse("criteria.yaml", "kind: CriteriaWords\nservice: {words: [eks]}\n")));
  return words;
}

Result<Overlay> overlay(std::string text) {
  LOCKSTEP_TRY(YamlFile file, YamlFile::parse("overlays/x.yaml", std::move(text)));
  return read_overlay(file, words());
}

Result<Mixin> mixin(std::string text) {
  LOCKSTEP_TRY(YamlFile file, YamlFile::parse("mixins/x.yaml", std::move(text)));
  return read_mixin(file);
}

TEST(Overlay, SaysWhenItAppliesAndWhatItStandsOn) {
  auto read = overlay(
      "kind: RecipeMetadata\napiVersion: aicr.nvidia.com/v1alpha1\nmetadata: {name: x}\n"
      "spec:\n  base: eks\n  criteria: {service: eks}\n  mixins: [m]\n"
      "  constraints: [{name: c, value: v}]\n  componentRefs: []\n"
      "  validation: {deployment: {checks: [k]}}\n");
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(read->name, "x");
  EXPECT_EQ(read->file, "overlays/x.yaml");
  EXPECT_EQ(read->base, "eks");
  EXPECT_EQ(read->criteria, (Criteria{.service = "eks"}));
  EXPECT_EQ(read->mixins, std::vector<std::string>{"m"});
  EXPECT_EQ(read->spec.constraints.size(), 1u);
  EXPECT_EQ(read->spec.validation.count("deployment"), 1u);
}

TEST(Overlay, WithoutCriteriaIsNotOneOfNoCriteria) {
  std::string head = "kind: RecipeMetadata\nmetadata: {name: x}\nspec:\n  base: b\n";
  EXPECT_EQ(overlay(head)->criteria, std::nullopt);
  EXPECT_EQ(overlay(head + "  criteria: {}\n")->criteria, Criteria{});
}

TEST(Overlay, RefusesWhatIsWrong) {
  struct Case {
    std::string text;
    std::string part;
  };
  for (const Case& c : std::vector<Case>{
           {"kind: RecipeMixin\nmetadata: {name: x}\nspec: {base: b}\n",
            "overlays/x.yaml:1:1: kind: must be RecipeMetadata"},
           {"kind: RecipeMetadata\nmetadata: {name: x}\n", "spec: is missing"},
           {"kind: RecipeMetadata\nmetadata: {}\nspec: {base: b}\n", "metadata.name: is missing"},
           {"kind: RecipeMetadata\nmetadata: {name: x}\nspec: {baes: b}\n", "\"base\""},
           {"kind: RecipeMetadata\nmetadata: {name: x}\nspec: {criteria: {service: ekss}}\n",
            "did you mean \"eks\"?"},
           {"kind: RecipeMetadata\nmetadata: {name: x}\nsepc: {}\n", "\"spec\""},
       }) {
    auto read = overlay(c.text);
    ASSERT_FALSE(read.has_value()) << c.text;
    EXPECT_NE(read.error().text().find(c.part), std::string::npos) << read.error().text();
  }
}

TEST(Mixin, HasConstraintsAndComponentsAlone) {
  std::string head = "kind: RecipeMixin\nmetadata: {name: m}\nspec:\n";
  auto read = mixin(head + "  constraints: [{name: c, value: v}]\n  componentRefs: [{name: a}]\n");
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(read->name, "m");
  EXPECT_EQ(read->spec.components[0].name, "a");
  EXPECT_NE(mixin(head + "  criteria: {}\n").error().text().find("unknown field"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::bundle::overlay_test
