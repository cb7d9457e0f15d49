#include "bundle/difference.h"

#include <gtest/gtest.h>

#include "data/json.h"

namespace lockstep::bundle::difference_test {
namespace {

ComponentRef component(std::string name, std::string version, std::string overrides = "{}") {
  ComponentRef ref;
  ref.name = std::move(name);
  ref.type = ComponentType::helm;
  ref.chart = ref.name;
  ref.version = std::move(version);
  ref.overrides = parse_json(overrides)->get_object();
  return ref;
}

Described recipe_of(std::vector<ComponentRef> components) {
  Described side;
  side.recipe.components = std::move(components);
  return side;
}

TEST(Difference, OfARecipeWithItselfIsNone) {
  Described side = recipe_of({component("a", "v1")});
  EXPECT_TRUE(difference(side, side).empty());
  EXPECT_EQ(describe(difference(side, side)), "no difference\n");
}

TEST(Difference, SaysPerComponentWhatChanges) {
  Described before = recipe_of(
      {component("gone", "v1"), component("op", "v1", R"({"driver":{"version":"580.1"}})")});
  Described after = recipe_of(
      {component("new", "v3"), component("op", "v2", R"({"driver":{"version":"580.2","x":1}})")});
  Constraint& constraint = before.recipe.constraints.emplace_back();
  constraint.name = "K8s.server.version";
  constraint.value = ">= 1.33";
  EXPECT_EQ(describe(difference(before, after)),
            "gone: removed v1\n"
            "new: added v3\n"
            "op\n"
            "  version: v1 -> v2\n"
            "  overrides.driver.version: 580.1 -> 580.2\n"
            "  overrides.driver.x: (not set) -> 1\n"
            "constraints\n"
            "  K8s.server.version: >= 1.33 -> (not set)\n");
}

TEST(Difference, OfBundlesIsAboutTheValuesOfEachRelease) {
  Described before = recipe_of({component("op", "v1", R"({"a":1})")});
  Described after = recipe_of({component("op", "v1", R"({"a":2})")});
  before.values["op"] = parse_json(R"({"podAnnotations":{"x.y/z":"v1"}})")->get_object();
  after.values["op"] = parse_json(R"({"podAnnotations":{"x.y/z":"v2"}})")->get_object();
  after.values["op-post"] = parse_json(R"({"a":null})")->get_object();
  Difference found = difference(before, after);
  EXPECT_EQ(describe(found), "op\n  values.podAnnotations.x\\.y/z: v1 -> v2\nop-post: added\n");
  EXPECT_EQ(print_json(to_json(found)),
            R"({"components":[{"name":"op","change":"changed","fields":[)"
            R"({"field":"values.podAnnotations.x\\.y/z","before":"v1","after":"v2"}]},)"
            R"({"name":"op-post","change":"added","fields":[{"field":"values.a","after":null}]}],)"
            R"("constraints":[],"criteria":[]})");
}

}  // namespace
}  // namespace lockstep::bundle::difference_test
