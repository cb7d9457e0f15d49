#include "cli/catalogue_session.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "bundle/recipe_file.h"
#include "bundle/snapshot.h"
#include "recipes/embedded_catalogue.h"
#include "world/directories.h"
#include "world/files.h"

namespace lockstep::cli {

namespace {

Result<YamlFile> read_yaml(const std::string& path) {
  LOCKSTEP_TRY(std::string text, SystemFiles().read(path));
  return YamlFile::parse(path, std::move(text));
}

// kind: RecipeCriteria, with the criteria under spec.
Result<bundle::Criteria> read_criteria_file(const bundle::Catalogue& catalogue,
                                            const std::string& path) {
  LOCKSTEP_TRY(YamlFile file, read_yaml(path));
  bundle::Criteria criteria;
  LOCKSTEP_CHECK(read_strictly(file, [&](StrictReader& object) {
    object.must_be("kind", "RecipeCriteria");
    object.required("spec").unused({"apiVersion", "metadata"});
    object.within("spec",
                  [&](StrictReader& spec) { read_criteria(spec, catalogue.words, criteria); });
  }));
  return criteria;
}

// A misspelt folder, or one that was not checked out: it would change nothing, and nothing would be
// said.
Result<void> check_data_folder(const std::string& folder, const TreeTexts& files) {
  auto is_of_catalogue = [](const auto& file) {
    std::string_view path = file.first;
    auto in = [&](std::string_view part) { return path.starts_with(part); };
    return in("overlays/") || in("mixins/") || in("components/") || in("hooks/") ||
           path == "registry.yaml" || path == "criteria.yaml" || path == "derived.yaml" ||
           path == "hooks.yaml" || path == "releases.yaml" || path == "compatibility.yaml";
  };
  if (std::any_of(files.begin(), files.end(), is_of_catalogue)) return {};
  return fail(ErrorKind::invalid,
              "has no catalogue file (registry.yaml, overlays/, mixins/, components/, …): name the "
              "folder of the catalogue",
              "--data " + folder);
}

void lay_over(bundle::Criteria& below, const bundle::Criteria& above) {
  for (const bundle::CriteriaField& field : bundle::criteria_fields) {
    if (!(above.*field.value).empty()) below.*field.value = above.*field.value;
  }
  if (above.nodes != 0) below.nodes = above.nodes;
}

}  // namespace

Result<bundle::Catalogue> open_catalogue(const CatalogueFlags& flags) {
  if (flags.data_only && flags.data.empty()) {
    return fail(ErrorKind::invalid, "needs --data DIR: without it there is no catalogue",
                "--data-only");
  }
  using recipes::Part;
  std::vector<bundle::Layer> layers = {
      recipes::embedded_layer(flags.data_only ? Part::rules : Part::all)};
  for (const std::string& folder : flags.data) {
    auto files = read_tree(folder);
    if (!files) return fail(files.error().at("--data"));
    LOCKSTEP_CHECK(check_data_folder(folder, *files));
    bundle::Layer& layer = layers.emplace_back(bundle::Layer{.name = folder, .files = {}});
    for (auto& [path, text] : *files) layer.files.emplace(path, std::move(text));
  }
  return bundle::Catalogue::read(layers);
}

bool has_criteria(const CriteriaFlags& flags) {
  bundle::Criteria said = flags.said;
  said.nodes = 0;  // also says how many nodes are to be scheduled on
  return said != bundle::Criteria{} || !flags.criteria_file.empty() || !flags.snapshot_file.empty();
}

Result<bundle::ResolvedRecipe> resolve(const bundle::Catalogue& catalogue,
                                       const CriteriaFlags& flags) {
  if (!has_criteria(flags)) {
    return fail(ErrorKind::invalid,
                "name the target: --service, --accelerator, --intent, --os, --platform, a file "
                "(--criteria, --snapshot); --service any for any cluster",
                "criteria");
  }
  bundle::Criteria criteria;
  std::optional<bundle::Snapshot> snapshot;
  if (!flags.snapshot_file.empty()) {
    LOCKSTEP_TRY(YamlFile file, read_yaml(flags.snapshot_file));
    LOCKSTEP_TRY(snapshot, bundle::Snapshot::read(std::move(file)));
    criteria = bundle::criteria_of(*snapshot, catalogue.words);
  }
  if (!flags.criteria_file.empty()) {
    LOCKSTEP_TRY(bundle::Criteria said, read_criteria_file(catalogue, flags.criteria_file));
    lay_over(criteria, said);
  }
  lay_over(criteria, flags.said);
  return bundle::resolve(catalogue, criteria, snapshot ? &*snapshot : nullptr);
}

Result<bundle::ResolvedRecipe> read_recipe_file(const bundle::Catalogue& catalogue,
                                                const std::string& path) {
  LOCKSTEP_TRY(YamlFile file, read_yaml(path));
  return bundle::read_recipe(file, catalogue.words);
}

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) fmt::print(stderr, "warning: {}\n", warning);
}

}  // namespace lockstep::cli
