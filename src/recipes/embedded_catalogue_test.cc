#include "recipes/embedded_catalogue.h"

#include <gtest/gtest.h>

#include "bundle/resolve.h"
#include "data/json.h"
#include "data/yaml.h"

namespace lockstep::recipes::embedded_catalogue_test {
namespace {

TEST(EmbeddedCatalogue, IsReadWithoutAnError) {
  auto catalogue = bundle::Catalogue::read({embedded_layer(Part::all)});
  ASSERT_TRUE(catalogue.has_value()) << catalogue.error().text();
  EXPECT_TRUE(bundle::resolve(*catalogue, {}).has_value());
}

TEST(EmbeddedCatalogue, TheJsonOfAFileIsWhatItsTextSays) {
  bundle::Layer layer = embedded_layer(Part::all);
  ASSERT_FALSE(layer.json.empty());
  for (const auto& [path, json] : layer.json) {
    auto value = parse_yaml(layer.files.at(path), path);
    ASSERT_TRUE(value.has_value()) << value.error().text();
    EXPECT_EQ(print_json(*value), json) << path;
  }
}

TEST(EmbeddedCatalogue, TheRulesHaveNeitherComponentsNorOverlays) {
  bundle::Layer rules = embedded_layer(Part::rules);
  EXPECT_EQ(rules.files.count("criteria.yaml"), 1U);
  for (const auto& [path, text] : rules.files) {
    EXPECT_FALSE(path.starts_with("overlays/") || path.starts_with("components/")) << path;
    EXPECT_NE(path, "registry.yaml");
  }
}

}  // namespace
}  // namespace lockstep::recipes::embedded_catalogue_test
