// Every combination that the catalogue claims: resolves, is bundled for every deployer, and passes
// the guardrail.
#include <set>

#include <gtest/gtest.h>

#include "bundle/checksums.h"
#include "bundle/guardrail.h"
#include "bundle/queries_test_util.h"
#include "data/json.h"
#include "recipes/recipes_test_util.h"

namespace lockstep::recipes::catalogue_coverage_test {
namespace {

// The recipe without what was asked for: many queries give the same.
std::string essence(const bundle::ResolvedRecipe& recipe) {
  JsonObject json = to_json(recipe);
  json.erase("criteria");
  json.erase("metadata");
  return print_json(json);
}

TEST(CatalogueCoverage, EveryCombinationIsBundledForEveryDeployerAndPassesTheGuardrail) {
  const OurCatalogue& ours = our_catalogue();
  std::set<std::string> seen;
  for (const bundle::Criteria& query : bundle::all_queries(ours.catalogue.words)) {
    bundle::BundleRequest request = request_for(query);
    if (!seen.insert(essence(request.recipe)).second) continue;
    bundle::MadeBundle made = make(request);
    for (const auto& [deployer, files] : bundles_of(made.model)) {
      auto findings = bundle::check_bundle(ours.rules, files, ours.catalogue.words, "bundle");
      ASSERT_TRUE(findings.has_value()) << describe(query) << ": " << findings.error().text();
      EXPECT_TRUE(findings->empty()) << describe(query) << " for " << deployer << ": "
                                     << findings->front().place << ": " << findings->front().what;
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(seen.size(), 100U);
}

TEST(CatalogueCoverage, EveryDeployerGetsTheVerySameValues) {
  bundle::BundleModel model = make(request_for(flagship)).model;
  for (const auto& [deployer, files] : bundles_of(model)) {
    for (const bundle::Release& release : model.releases) {
      EXPECT_EQ(print_json(values_in(files, release.name)), print_json(release.values))
          << deployer << " " << release.name;
    }
  }
}

TEST(CatalogueCoverage, TheSameInputGivesTheSameBytes) {
  auto first = bundles_of(make(request_for(flagship)).model);
  auto second = bundles_of(make(request_for(flagship)).model);
  EXPECT_EQ(first, second);
}

TEST(CatalogueCoverage, TheOrderOfFilesOnDiskChangesNothing) {
  // Layers are maps; what could differ is which layer brings a file: everything in one, or the
  // overlays in another.
  bundle::Layer all = embedded_layer(Part::all);
  bundle::Layer rest{.name = "recipes", .files = {}};
  for (auto at = all.files.begin(); at != all.files.end();) {
    if (!at->first.starts_with("overlays/h")) {
      ++at;
      continue;
    }
    rest.files.insert(*at);
    all.json.erase(at->first);
    at = all.files.erase(at);
  }
  auto split = bundle::Catalogue::read({all, rest});
  ASSERT_TRUE(split.has_value()) << split.error().text();
  auto recipe = bundle::resolve(*split, flagship);
  ASSERT_TRUE(recipe.has_value());
  EXPECT_EQ(print_json(to_json(*recipe)), print_json(to_json(request_for(flagship).recipe)));
}

}  // namespace
}  // namespace lockstep::recipes::catalogue_coverage_test
