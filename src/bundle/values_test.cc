#include "bundle/values.h"

#include <gtest/gtest.h>

#include "bundle/bundle_test_util.h"
#include "data/yaml.h"

namespace lockstep::bundle::values_test {
namespace {

ComponentRef component(std::string name, std::string values_file, std::string overrides = "{}") {
  ComponentRef ref;
  ref.name = std::move(name);
  ref.values_file = std::move(values_file);
  ref.overrides = parse_yaml(overrides)->get_object();
  ref.place = "overlays/x.yaml:5:7";
  return ref;
}

FileMap files() {
  return with(small_files(), {{"components/operator/values-eks.yaml",
                               "driver: {version: 2, extra: null}\nlist: [c]\nversion: '1.10'\n"},
                              {"components/operator/empty.yaml", "# nothing\n"},
                              {"components/operator/list.yaml", "- a\n"},
                              {"components/operator/broken.yaml", "a: [\n"}});
}

std::string values_of(const ComponentRef& ref) {
  auto values = component_values(catalogue_of(files()), ref);
  return values ? print_json(*values) : values.error().text();
}

TEST(Values, AreTheCommonFileThenTheNamedOneThenOverrides) {
  EXPECT_EQ(values_of(component("operator", "components/operator/values.yaml")),
            R"({"driver":{"enabled":true,"version":1},"list":["a","b"]})");
  EXPECT_EQ(values_of(component("operator", "")),
            R"({"driver":{"enabled":true,"version":1},"list":["a","b"]})");
  EXPECT_EQ(
      values_of(component("operator", "components/operator/values-eks.yaml")),
      R"({"driver":{"enabled":true,"version":2,"extra":null},"list":["c"],"version":"1.10"})");
  EXPECT_EQ(values_of(component("operator", "components/operator/values-eks.yaml",
                                "{driver: {version: 3}, list: [], new: {a: 1}}")),
            R"({"driver":{"enabled":true,"version":3,"extra":null},"list":[],"version":"1.10",)"
            R"("new":{"a":1}})");
  EXPECT_EQ(values_of(component("monitor", "", "{a: 1}")), R"({"a":1})");
  EXPECT_EQ(values_of(component("monitor", "")), "{}");
}

TEST(Values, NullSurvives) {
  EXPECT_EQ(values_of(component("operator", "", "{driver: null, list: null, other: null}")),
            R"({"driver":null,"list":null,"other":null})");
  EXPECT_EQ(values_of(component("operator", "", "{driver: {enabled: null}}")),
            R"({"driver":{"enabled":null,"version":1},"list":["a","b"]})");
}

TEST(Values, OfAFileThatIsMissingOrWrongAreAnError) {
  EXPECT_EQ(
      values_of(component("operator", "components/operator/none.yaml")),
      "overlays/x.yaml:5:7: operator names the values file \"components/operator/none.yaml\", "
      "which is not in the catalogue");
  EXPECT_EQ(values_of(component("operator", "components/operator/list.yaml")),
            "components/operator/list.yaml: values must be a map");
  EXPECT_NE(values_of(component("operator", "components/operator/broken.yaml"))
                .find("components/operator/broken.yaml:"),
            std::string::npos);
  EXPECT_EQ(values_of(component("operator", "components/operator/empty.yaml")),
            R"({"driver":{"enabled":true,"version":1},"list":["a","b"]})");
}

}  // namespace
}  // namespace lockstep::bundle::values_test
