// The catalogues themselves: ours, and AICR's, which has other authors and is not part of the
// project.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "bundle/bundle_test_util.h"
#include "bundle/queries_test_util.h"
#include "bundle/resolve.h"
#include "bundle/values.h"
#include "data/yaml.h"

namespace lockstep::bundle::data_directories_test {
namespace {

namespace fs = std::filesystem;

fs::path project_root() { return LOCKSTEP_SOURCE_DIR; }

FileMap read_folder(const fs::path& folder) {
  FileMap files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path().lexically_relative(folder).generic_string()] =
        std::string(std::istreambuf_iterator<char>(in), {});
  }
  return files;
}

FileMap our_files() { return read_folder(project_root() / "recipes"); }

// AICR's directory has no list of words, its program has; ours has the same words.
Result<Catalogue> aicr_catalogue() {
  fs::path folder = project_root().parent_path() / "shared" / "aicr-recipes";
  if (!fs::exists(folder)) return failf(ErrorKind::not_found, "{} is not there", folder.string());
  return Catalogue::read({{"recipes", {{"criteria.yaml", our_files().at("criteria.yaml")}}},
                          {"aicr-recipes", read_folder(folder)}});
}

#define READ_AICR_OR_SKIP(name)                                                          \
  auto name##_read = aicr_catalogue();                                                   \
  if (!name##_read && name##_read.error().kind == ErrorKind::not_found) {                \
    GTEST_SKIP() << "AICR's data is NOT compared with: " << name##_read.error().message; \
  }                                                                                      \
  ASSERT_TRUE(name##_read.has_value()) << name##_read.error().text();                    \
  const Catalogue& name = *name##_read

void expect_all_resolve(const Catalogue& catalogue) {
  std::set<std::string> seen;  // few components differ between recipes
  for (const Criteria& query : all_queries(catalogue.words)) {
    auto recipe = resolve(catalogue, query);
    ASSERT_TRUE(recipe.has_value()) << describe(query) << ": " << recipe.error().text();
    for (const ComponentRef& component : recipe->components) {
      if (!seen.insert(print_json(to_json(component))).second) continue;
      auto values = component_values(catalogue, component);
      ASSERT_TRUE(values.has_value()) << describe(query) << ": " << values.error().text();
    }
  }
}

Catalogue our_catalogue() {
  auto catalogue = Catalogue::read({{"recipes", our_files()}});
  EXPECT_TRUE(catalogue.has_value()) << catalogue.error().text();
  return std::move(catalogue).value();  // throws: no test can go on without it
}

bool is_disabled(const ComponentRef& component) {
  auto at = component.overrides.find("enabled");
  return at != component.overrides.end() && at->value() == false;
}

bool has_enabled(const ResolvedRecipe& recipe, std::string_view name) {
  const ComponentRef* component = recipe.find(name);
  return component != nullptr && !is_disabled(*component);
}

size_t position(const std::vector<std::string>& names, std::string_view name) {
  return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

// That each component has its place, after all that it needs, and that nothing it needs is off.
void expect_deployable(const ResolvedRecipe& recipe) {
  const std::vector<std::string>& order = recipe.deployment_order;
  EXPECT_EQ(order.size(), recipe.components.size());
  for (const ComponentRef& component : recipe.components) {
    EXPECT_LT(position(order, component.name), order.size()) << component.name;
    if (component.type == ComponentType::helm) {
      EXPECT_FALSE(component.version.empty()) << component.name;
    }
    for (const std::string& needed : component.dependencies) {
      EXPECT_LT(position(order, needed), position(order, component.name)) << needed;
      EXPECT_TRUE(is_disabled(component) || has_enabled(recipe, needed)) << needed;
    }
  }
  EXPECT_LT(position(order, "gpu-operator"), position(order, "nvidia-dra-driver-gpu"));
}

Json values_of(const Catalogue& catalogue, const Criteria& query, std::string_view component) {
  auto recipe = resolve(catalogue, query);
  EXPECT_TRUE(recipe.has_value()) << recipe.error().text();
  auto values = component_values(catalogue, *recipe->find(component));
  EXPECT_TRUE(values.has_value()) << values.error().text();
  return Json(*std::move(values));
}

TEST(OurCatalogue, ResolvesForEveryQuery) {
  Catalogue catalogue = our_catalogue();
  EXPECT_EQ(all_queries(catalogue.words).size(), 1890U);
  expect_all_resolve(catalogue);
}

TEST(OurCatalogue, IsDeployableForEveryQuery) {
  Catalogue catalogue = our_catalogue();
  for (const Criteria& query : all_queries(catalogue.words)) {
    SCOPED_TRACE(describe(query));
    auto recipe = resolve(catalogue, query);
    ASSERT_TRUE(recipe.has_value()) << recipe.error().text();
    expect_deployable(*recipe);
    if (HasFailure()) return;
  }
}

TEST(OurCatalogue, HasNoOverlayThatIsNeverReached) {
  Catalogue catalogue = our_catalogue();
  std::set<std::string> bases;
  for (const auto& [name, overlay] : catalogue.overlays) bases.insert(overlay.base);
  for (const auto& [name, overlay] : catalogue.overlays) {
    if (!overlay.criteria) {
      EXPECT_EQ(bases.count(name), 1U) << name;
      continue;
    }
    auto recipe = resolve(catalogue, *overlay.criteria);
    ASSERT_TRUE(recipe.has_value()) << recipe.error().text();
    EXPECT_EQ(recipe->applied_overlays.back(), name);
    EXPECT_TRUE(recipe->warnings.empty()) << name << ": " << recipe->warnings.front();
  }
}

TEST(OurCatalogue, FlagshipHasItsComponentsInOrder) {
  Catalogue catalogue = our_catalogue();
  auto recipe = resolve(catalogue, {.service = "eks",
                                    .accelerator = "h100",
                                    .intent = "training",
                                    .os = "ubuntu",
                                    .platform = "kubeflow"});
  ASSERT_TRUE(recipe.has_value()) << recipe.error().text();
  EXPECT_EQ(join(recipe->applied_overlays, " "),
            "base managed-control-plane eks mig-capable h100 training ubuntu eks-training "
            "training-kubeflow");
  EXPECT_EQ(join(recipe->applied_mixins, " "), "gang-scheduling efa");
  std::vector<std::string> enabled;
  for (const std::string& name : recipe->deployment_order) {
    if (has_enabled(*recipe, name)) enabled.push_back(name);
  }
  EXPECT_EQ(join(enabled, " "),
            "aws-ebs-csi-driver aws-efa cert-manager kube-prometheus-stack node-feature-discovery "
            "gpu-operator kai-scheduler kubeflow-trainer nvidia-dra-driver-gpu nvsentinel");
  EXPECT_TRUE(recipe->warnings.empty());
}

// If a file had a version twice, an update would change only one of them.
TEST(OurCatalogue, EveryVersionStandsOnceAndInNoValuesFile) {
  Catalogue catalogue = our_catalogue();
  std::vector<const RecipeSpec*> specs = {&catalogue.base.spec};
  for (const auto& [name, overlay] : catalogue.overlays) specs.push_back(&overlay.spec);
  for (const auto& [name, mixin] : catalogue.mixins) specs.push_back(&mixin.spec);
  std::map<std::string, std::string> versions;
  for (const RecipeSpec* spec : specs) {
    for (const ComponentRef& component : spec->components) {
      if (component.version.empty()) continue;
      EXPECT_TRUE(versions.emplace(component.name, component.version).second) << component.name;
    }
  }
  for (const auto& [name, component] : catalogue.registry.components()) {
    EXPECT_EQ(versions.count(name), 1U) << name << " is in no recipe";
    EXPECT_TRUE(component.helm.version.empty()) << name;
  }
  for (const auto& [path, text] : catalogue.files) {
    for (const auto& [name, version] : versions) {
      std::string number = version.substr(version.starts_with("v") ? 1 : 0);
      EXPECT_EQ(text.find(number), std::string::npos) << path << " has the version of " << name;
    }
  }
}

TEST(OurCatalogue, TheDriverIsTheOperatorsWhereItRunsOnTheNodesSystem) {
  struct Row {
    Criteria query;
    bool managed;
    std::string root;
  };
  std::vector<Row> rows = {
      {{}, true, "/run/nvidia/driver"},
      {{.os = "rhel"}, true, "/run/nvidia/driver"},
      {{.service = "eks", .os = "ubuntu"}, true, "/run/nvidia/driver"},
      {{.service = "eks", .os = "amazonlinux"}, false, "/"},
      {{.service = "aks"}, true, "/run/nvidia/driver"},
      {{.service = "gke"}, false, "/home/kubernetes/bin/nvidia"},
      {{.service = "gke", .os = "cos"}, false, "/home/kubernetes/bin/nvidia"},
      {{.service = "gke", .os = "ubuntu"}, true, "/run/nvidia/driver"},
      {{.service = "oke"}, false, "/"},
      {{.service = "kind"}, false, "/"},
  };
  Catalogue catalogue = our_catalogue();
  for (const Row& row : rows) {
    SCOPED_TRACE(describe(row.query));
    Json gpu_operator = values_of(catalogue, row.query, "gpu-operator");
    EXPECT_EQ(*find(gpu_operator, "driver", "enabled"), row.managed);
    EXPECT_FALSE(text_at(gpu_operator, "driver", "version").empty());
    Json dra = values_of(catalogue, row.query, "nvidia-dra-driver-gpu");
    EXPECT_EQ(text_at(dra, "nvidiaDriverRoot"), row.root);
  }
}

TEST(OurCatalogue, NvlinkBetweenNodesIsForGb200Alone) {
  Catalogue catalogue = our_catalogue();
  for (const std::string& accelerator : catalogue.words.words("accelerator")) {
    Json dra = values_of(catalogue, {.accelerator = accelerator}, "nvidia-dra-driver-gpu");
    EXPECT_EQ(*find(dra, "resources", "computeDomains", "enabled"), accelerator == "gb200")
        << accelerator;
    EXPECT_EQ(*find(dra, "resources", "gpus", "enabled"), true) << accelerator;
  }
}

TEST(OurCatalogue, TrainingGetsTheFabricOfItsService) {
  Catalogue catalogue = our_catalogue();
  std::vector<std::string> services = {""};
  for (const std::string& word : catalogue.words.words("service")) services.push_back(word);
  for (const std::string& service : services) {
    SCOPED_TRACE(service);
    auto recipe = resolve(catalogue, {.service = service, .intent = "training"});
    ASSERT_TRUE(recipe.has_value()) << recipe.error().text();
    bool own_fabric = service == "eks" || service == "gke" || service == "kind";
    EXPECT_EQ(has_enabled(*recipe, "network-operator"), !own_fabric);
    EXPECT_EQ(has_enabled(*recipe, "aws-efa"), service == "eks");
    EXPECT_TRUE(has_enabled(*recipe, "kai-scheduler"));
    Json gpu_operator = values_of(catalogue, recipe->criteria, "gpu-operator");
    EXPECT_EQ(*find(gpu_operator, "gdrcopy", "enabled"), true);
  }
}

TEST(OurCatalogue, APlatformWithoutItsIntentIsSaidToChangeNothing) {
  Catalogue catalogue = our_catalogue();
  auto recipe = resolve(catalogue, {.platform = "dynamo"});
  ASSERT_TRUE(recipe.has_value()) << recipe.error().text();
  ASSERT_EQ(recipe->warnings.size(), 1U);
  EXPECT_NE(recipe->warnings[0].find("inference-dynamo (needs intent inference)"),
            std::string::npos)
      << recipe->warnings[0];
}

// What the rules say of components and files; how they are carried out is tested with their
// readers.
TEST(OurCatalogue, ItsRulesNameComponentsAndFilesThatExist) {
  Catalogue catalogue = our_catalogue();
  FileMap files = our_files();
  auto read = [&](const std::string& path) {
    auto value = parse_yaml(files.at(path), path);
    EXPECT_TRUE(value.has_value() && value->is_array()) << path;
    return value->get_array();
  };
  auto expect_component = [&](const Json* name) {
    EXPECT_NE(catalogue.registry.find(as_text(name)), nullptr) << as_text(name);
  };
  for (const Json& rule : read("derived.yaml")) {
    expect_component(find(rule, "from", "component"));
    expect_component(find(rule, "to", "component"));
    for (const Json& name : find(rule, "when")->get_array()) expect_component(&name);
  }
  for (const Json& release : read("releases.yaml")) expect_component(find(release, "component"));
  for (const Json& hook : read("hooks.yaml")) {
    expect_component(find(hook, "component"));
    EXPECT_EQ(files.count(text_at(hook, "defaults")), 1U);
    for (const Json& path : find(hook, "manifests")->get_array()) {
      EXPECT_EQ(files.count(as_text(&path)), 1U) << as_text(&path);
    }
  }
}

TEST(AicrsCatalogue, IsReadStrictlyAndResolvesForEveryQuery) {
  READ_AICR_OR_SKIP(catalogue);
  EXPECT_EQ(catalogue.overlays.size(), 37u);
  EXPECT_EQ(catalogue.registry.components().size(), 19u);
  expect_all_resolve(catalogue);
}

// Versions of AICR differ in whether every match is applied or only those that are not a base of
// another, and in how ties are broken. On its own data the answers must be the same.
TEST(AicrsCatalogue, GivesTheSameOverlaysByEitherOfAicrsRules) {
  READ_AICR_OR_SKIP(catalogue);
  for (const Criteria& query : all_queries(catalogue.words)) {
    std::vector<const Overlay*> matching = matching_overlays(catalogue, query);
    std::vector<std::string> expected = {"base"};
    for (const Overlay* leaf : matching) {
      bool is_base = std::any_of(matching.begin(), matching.end(), [&](const Overlay* other) {
        return catalogue.is_ancestor(*leaf, *other);
      });
      if (is_base) continue;
      for (const Overlay* part : catalogue.chain(*leaf)) {
        if (std::find(expected.begin(), expected.end(), part->name) == expected.end()) {
          expected.push_back(part->name);
        }
      }
    }
    EXPECT_EQ(resolve(catalogue, query)->applied_overlays, expected) << describe(query);
  }
}

TEST(AicrsCatalogue, FlagshipIsMergedInOrderWithEveryVersionFixed) {
  READ_AICR_OR_SKIP(catalogue);
  auto recipe = resolve(catalogue, {.service = "eks",
                                    .accelerator = "h100",
                                    .intent = "training",
                                    .os = "ubuntu",
                                    .platform = "kubeflow"});
  ASSERT_TRUE(recipe.has_value()) << recipe.error().text();
  EXPECT_EQ(join(recipe->applied_overlays, " "),
            "base monitoring-hpa eks eks-training h100-eks-training h100-eks-ubuntu-training "
            "h100-eks-ubuntu-training-kubeflow");
  EXPECT_TRUE(recipe->warnings.empty());
  EXPECT_EQ(recipe->find("gpu-operator")->version, "v25.10.1");
  EXPECT_EQ(recipe->find("gpu-operator")->chart, "gpu-operator");
  EXPECT_EQ(recipe->find("kubeflow-trainer")->version, "2.1.0") << "from the registry";
  EXPECT_EQ(recipe->find("kubeflow-trainer")->source, "oci://ghcr.io/kubeflow/charts");
  EXPECT_EQ(recipe->find("nvsentinel")->source, "oci://ghcr.io/nvidia") << "not the registry's";
  EXPECT_EQ(recipe->find("nvidia-dra-driver-gpu")->ns, "nvidia-dra-driver");
}

TEST(AicrsCatalogue, NullOfAnOverlaySurvivesIntoTheValues) {
  READ_AICR_OR_SKIP(catalogue);
  auto recipe = resolve(catalogue, {.service = "eks"});
  ASSERT_TRUE(recipe.has_value()) << recipe.error().text();
  auto values = component_values(catalogue, *recipe->find("kube-prometheus-stack"));
  ASSERT_TRUE(values.has_value()) << values.error().text();
  Json whole(*values);
  const Json* storage = find(whole, "prometheus", "prometheusSpec", "storageSpec");
  ASSERT_NE(storage, nullptr);
  ASSERT_NE(find(*storage, "emptyDir"), nullptr);
  EXPECT_TRUE(find(*storage, "emptyDir")->is_null());
  EXPECT_EQ(text_at(*storage, "volumeClaimTemplate", "spec", "storageClassName"), "gp2");
}

TEST(AicrsCatalogue, SaysThatGkeWithoutItsOsIsAGenericRecipe) {
  READ_AICR_OR_SKIP(catalogue);
  auto recipe = resolve(catalogue, {.service = "gke"});
  ASSERT_TRUE(recipe.has_value()) << recipe.error().text();
  EXPECT_EQ(join(recipe->applied_overlays, " "), "base monitoring-hpa");
  ASSERT_EQ(recipe->warnings.size(), 1u);
  EXPECT_NE(recipe->warnings[0].find("gke-cos (needs os cos)"), std::string::npos)
      << recipe->warnings[0];
}

}  // namespace
}  // namespace lockstep::bundle::data_directories_test
