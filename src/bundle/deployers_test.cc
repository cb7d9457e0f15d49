#include "bundle/deployers.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "bundle/deployers_test_util.h"
#include "bundle/release_files.h"

namespace lockstep::bundle::deployers_test {
namespace {

using ValuesByRelease = std::map<std::string, Json>;

// The values of every release with a chart, from the place where the deployer's program reads them.
ValuesByRelease values_in(std::string_view deployer, const BundleModel& model,
                          const BundleFiles& files) {
  ValuesByRelease values;
  for (size_t position = 0; position < model.releases.size(); ++position) {
    const Release& release = model.releases[position];
    if (release.kind == ReleaseKind::kustomize) continue;
    const std::string folder = release_folder(position, release);
    if (deployer == "flux") {
      const Json json = yaml_at(files, release.name + "/helmrelease.yaml");
      const Json* found = find(json, "spec", "values");
      values[release.name] = found == nullptr ? Json() : *found;
    } else if (deployer == "argocd") {
      const Json json = yaml_at(files, folder + "/application.yaml");
      auto text = parse_yaml(text_at(json, "spec", "source", "helm", "values"));
      values[release.name] = text ? *text : Json();
    } else {
      values[release.name] = yaml_at(files, folder + "/values.yaml");
    }
  }
  return values;
}

BundleFiles bundle_of(const Deployer& deployer, const BundleModel& model) {
  auto files = deployer.write(model);
  EXPECT_TRUE(files.has_value()) << files.error().text();
  return files ? std::move(*files) : BundleFiles{};
}

bool is_yaml(const std::string& path) {
  // The templates of a chart become YAML only when Helm has rendered them.
  return path.ends_with(".yaml") && path.find("templates/") == std::string::npos;
}

TEST(Deployers, AreFiveInAFixedOrder) {
  std::vector<std::string_view> names;
  for (const Deployer& deployer : deployers()) names.push_back(deployer.name);
  EXPECT_EQ(names,
            (std::vector<std::string_view>{"helm", "helmfile", "flux", "argocd", "argocd-helm"}));
}

TEST(Deployers, AnUnknownOneIsRefusedWithTheKnownOnes) {
  EXPECT_EQ((*deployer_named("flux"))->name, "flux");
  const auto unknown = deployer_named("fluxx");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().message.find("helm, helmfile, flux, argocd, argocd-helm"),
            std::string::npos);
}

TEST(Deployers, EachCarriesTheVerySameValues) {
  for (const BundleModel& model : {sample_model(), nasty_model()}) {
    for (const Deployer& deployer : deployers()) {
      const auto files = deployer.write(model);
      ASSERT_TRUE(files.has_value()) << files.error().text();
      const ValuesByRelease values = values_in(deployer.name, model, *files);
      for (const Release& release : model.releases) {
        if (release.kind == ReleaseKind::kustomize) continue;
        EXPECT_TRUE(json_equal(values.at(release.name), Json(release.values)))
            << deployer.name << " " << release.name << "\n"
            << print_json(values.at(release.name));
      }
    }
  }
}

// json_equal takes a null for what it is, but a test that compares two lost ones would pass.
TEST(Deployers, EachKeepsANull) {
  const BundleModel model = sample_model();
  for (const Deployer& deployer : deployers()) {
    const ValuesByRelease values = values_in(deployer.name, model, bundle_of(deployer, model));
    const Json* limits = find(values.at("operator"), "driver", "limits");
    ASSERT_NE(limits, nullptr) << deployer.name;
    EXPECT_TRUE(limits->is_null()) << deployer.name;
  }
}

TEST(Deployers, WhateverNamesAndVersionsHoldEveryFileOfYamlIsYaml) {
  for (const Deployer& deployer : deployers()) {
    const auto files = deployer.write(nasty_model());
    ASSERT_TRUE(files.has_value()) << files.error().text();
    size_t count = 0;
    for (const auto& [path, file] : *files) {
      if (!is_yaml(path)) continue;
      ++count;
      const auto json = parse_yaml(file.content, path);
      EXPECT_TRUE(json.has_value()) << deployer.name << ": " << json.error().text();
      EXPECT_TRUE(!json || json->is_object()) << deployer.name << ": " << path;
    }
    EXPECT_GE(count, 7U) << deployer.name;
  }
}

TEST(Deployers, EachBundleHasTheRecipeAndSaysWhatToDo) {
  for (const Deployer& deployer : deployers()) {
    const BundleFiles files = bundle_of(deployer, sample_model());
    EXPECT_EQ(text_at(yaml_at(files, "recipe.yaml"), "kind"), "RecipeResult") << deployer.name;
    EXPECT_NE(content(files, "README.md").find("1. "), std::string::npos) << deployer.name;
    EXPECT_FALSE(files.contains("checksums.txt")) << "made when all files are there";
  }
}

TEST(Deployers, FilesOfYamlAndScriptsBeginWithWhatTheyAreFor) {
  for (const Deployer& deployer : deployers()) {
    for (const auto& [path, file] : bundle_of(deployer, sample_model())) {
      if (path == "README.md" || path.find("/templates/") != std::string::npos) continue;
      EXPECT_TRUE(file.content.starts_with("#")) << deployer.name << ": " << path;
    }
  }
}

TEST(Deployers, OnlyScriptsAreExecutable) {
  for (const Deployer& deployer : deployers()) {
    for (const auto& [path, file] : bundle_of(deployer, sample_model())) {
      EXPECT_EQ(file.executable, path.ends_with(".sh")) << deployer.name << ": " << path;
    }
  }
}

TEST(Deployers, TheTemplatesOfALocalChartAreNotTouched) {
  const BundleModel model = nasty_model();
  for (const Deployer& deployer : deployers()) {
    const BundleFiles files = bundle_of(deployer, model);
    const std::string folder = deployer.name == "flux" ? "operator-post" : "004-operator-post";
    for (const auto& [name, text] : model.releases[3].templates) {
      EXPECT_EQ(content(files, folder + "/templates/" + name), text) << deployer.name;
    }
    EXPECT_EQ(text_at(yaml_at(files, folder + "/Chart.yaml"), "version"), nasty_text);
  }
}

TEST(Deployers, TheSameModelGivesTheSameBytes) {
  for (const Deployer& deployer : deployers()) {
    EXPECT_EQ(bundle_of(deployer, sample_model()), bundle_of(deployer, sample_model()))
        << deployer.name;
  }
}

// A version that changes must reach every deployer's output.
TEST(Deployers, ABumpedVersionChangesEachBundle) {
  BundleModel bumped = sample_model();
  bumped.releases[1].version = "v26.4.0";
  bumped.releases[2].values["annotation"] = "v26.4.0";
  for (const Deployer& deployer : deployers()) {
    size_t mentions = 0;
    for (const auto& [path, file] : bundle_of(deployer, bumped)) {
      if (path == "README.md") continue;
      for (size_t at = 0; (at = file.content.find("v26.4.0", at)) != std::string::npos; ++at) {
        ++mentions;
      }
      EXPECT_EQ(file.content.find("v26.3.1"), std::string::npos) << deployer.name << ": " << path;
    }
    EXPECT_GE(mentions, 2U) << deployer.name;
  }
}

TEST(Deployers, EachRefusesAModelThatIsNotSafe) {
  BundleModel model = sample_model();
  model.releases[0].name = "../escape";
  for (const Deployer& deployer : deployers()) {
    EXPECT_FALSE(deployer.write(model).has_value()) << deployer.name;
  }
}

}  // namespace
}  // namespace lockstep::bundle::deployers_test
