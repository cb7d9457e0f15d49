// The catalogues themselves: ours, and AICR's, which nobody here wrote and which is not part of the
// project.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "bundle/bundle_test_util.h"
#include "bundle/resolve.h"
#include "bundle/values.h"

namespace lockstep::bundle {
namespace {

namespace fs = std::filesystem;

fs::path project_root() { return fs::path(__FILE__).parent_path().parent_path().parent_path(); }

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

// Every query that can be made of a catalogue's words.
std::vector<Criteria> all_queries(const CriteriaWords& words) {
  std::vector<Criteria> queries = {{}};
  for (const CriteriaField& field : criteria_fields) {
    std::vector<Criteria> more = queries;
    for (const std::string& word : words.words(field.name)) {
      for (Criteria query : queries) {
        query.*field.value = word;
        more.push_back(std::move(query));
      }
    }
    queries = std::move(more);
  }
  return queries;
}

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

TEST(OurCatalogue, ResolvesForEveryQuery) {
  auto catalogue = Catalogue::read({{"recipes", our_files()}});
  ASSERT_TRUE(catalogue.has_value()) << catalogue.error().text();
  expect_all_resolve(*catalogue);
}

TEST(OurCatalogue, HasAnOverlayThatIsReachedByItsOwnCriteriaOrAsABase) {
  auto catalogue = Catalogue::read({{"recipes", our_files()}});
  ASSERT_TRUE(catalogue.has_value()) << catalogue.error().text();
  for (const auto& [name, overlay] : catalogue->overlays) {
    ASSERT_TRUE(overlay.criteria.has_value()) << name;
    auto recipe = resolve(*catalogue, *overlay.criteria);
    EXPECT_EQ(recipe->applied_overlays.back(), name);
    EXPECT_TRUE(recipe->warnings.empty()) << recipe->warnings.front();
  }
}

TEST(AicrsCatalogue, IsReadStrictlyAndResolvesForEveryQuery) {
  READ_AICR_OR_SKIP(catalogue);
  EXPECT_EQ(catalogue.overlays.size(), 37u);
  EXPECT_EQ(catalogue.registry.components().size(), 19u);
  expect_all_resolve(catalogue);
}

// Versions of AICR differ in whether every match is applied or only those that are no base of
// another, and in how ties are broken. On its own data the answers must be one.
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
}  // namespace lockstep::bundle
