// The built-in catalogue with its rules, read once, for tests that make bundles of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bundle/bundle_reader.h"
#include "bundle/deployers.h"
#include "bundle/make_bundle.h"
#include "recipes/embedded_catalogue.h"

namespace lockstep::recipes {

struct OurCatalogue {
  bundle::Catalogue catalogue;
  bundle::Rules rules;
};

inline const OurCatalogue& our_catalogue() {
  static const OurCatalogue read = [] {
    OurCatalogue ours;
    auto catalogue = bundle::Catalogue::read({embedded_layer(Part::all)});
    EXPECT_TRUE(catalogue.has_value()) << catalogue.error().text();
    if (catalogue) ours.catalogue = std::move(*catalogue);
    auto rules = bundle::read_rules(ours.catalogue);
    EXPECT_TRUE(rules.has_value()) << rules.error().text();
    if (rules) ours.rules = std::move(*rules);
    return ours;
  }();
  return read;
}

inline const bundle::Criteria flagship = {.service = "eks",
                                          .accelerator = "h100",
                                          .intent = "training",
                                          .os = "ubuntu",
                                          .platform = "kubeflow"};

inline bundle::BundleRequest request_for(const bundle::Criteria& criteria,
                                         const std::vector<std::string>& settings = {}) {
  bundle::BundleRequest request;
  auto recipe = bundle::resolve(our_catalogue().catalogue, criteria);
  EXPECT_TRUE(recipe.has_value()) << recipe.error().text();
  if (recipe) request.recipe = std::move(*recipe);
  for (const std::string& text : settings) {
    auto setting = bundle::parse_setting(text, bundle::SettingKind::typed);
    EXPECT_TRUE(setting.has_value()) << setting.error().text();
    if (setting) request.settings.push_back(std::move(*setting));
  }
  return request;
}

inline bundle::MadeBundle make(const bundle::BundleRequest& request) {
  auto made = bundle::make_bundle(our_catalogue().catalogue, our_catalogue().rules, request);
  EXPECT_TRUE(made.has_value()) << made.error().text();
  return made ? std::move(*made) : bundle::MadeBundle{};
}

// What every deployer makes of it, by deployer.
inline std::map<std::string, bundle::FileMap> bundles_of(const bundle::BundleModel& model) {
  std::map<std::string, bundle::FileMap> bundles;
  for (const bundle::Deployer& deployer : bundle::deployers()) {
    auto files = deployer.write(model);
    EXPECT_TRUE(files.has_value()) << deployer.name << ": " << files.error().text();
    if (!files) continue;
    for (auto& [path, file] : *files) bundles[std::string(deployer.name)][path] = file.content;
  }
  return bundles;
}

// The first of the values of a release that a bundle has, read back from its files.
inline JsonObject values_in(const bundle::FileMap& files, const std::string& release) {
  auto read = bundle::read_bundle(files, our_catalogue().catalogue.words, "bundle");
  EXPECT_TRUE(read.has_value()) << read.error().text();
  if (!read) return {};
  auto values = read->values.find(release);
  return values == read->values.end() ? JsonObject() : values->second;
}

}  // namespace lockstep::recipes
