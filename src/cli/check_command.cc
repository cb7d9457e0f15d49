#include <cstdio>

#include <fmt/format.h>

#include "base/strings.h"
#include "bundle/guardrail.h"
#include "bundle/rules.h"
#include "cli/bundle_command.h"
#include "cli/exit_codes.h"
#include "cli/status_command.h"
#include "data/json.h"
#include "world/directories.h"
#include "world/files.h"

namespace lockstep::cli {

namespace {

using Findings = std::vector<bundle::Finding>;

Result<Findings> check_data(const CatalogueFlags& flags) {
  LOCKSTEP_TRY(bundle::Catalogue catalogue, open_catalogue(flags));
  LOCKSTEP_TRY(bundle::Rules rules, bundle::read_rules(catalogue));
  return bundle::check_catalogue(rules, catalogue);
}

// A catalogue of its own, or pieces that are laid over ours.
Result<Findings> check_folder(const std::string& folder, const TreeTexts& files,
                              CatalogueFlags flags) {
  flags.data.push_back(folder);
  if (files.count("registry.yaml") > 0 && files.count("overlays/base.yaml") > 0) {
    flags.data_only = true;
  }
  return check_data(flags);
}

Result<Findings> check_path(const std::string& path, const CatalogueFlags& flags,
                            const bundle::Catalogue& catalogue, const bundle::Rules& rules,
                            std::vector<std::string>& left_out) {
  if (is_directory(path)) {
    LOCKSTEP_TRY(TreeTexts files, read_tree(path));
    if (files.count("recipe.yaml") > 0) {
      return bundle::check_bundle(rules, {files.begin(), files.end()}, catalogue.words, path,
                                  &left_out);
    }
    bool is_data = files.count("registry.yaml") > 0;
    for (const auto& [name, text] : files) {
      is_data = is_data || name.starts_with("overlays/") || name.starts_with("components/");
    }
    if (is_data) return check_folder(path, files, flags);
    return fail(ErrorKind::invalid,
                "is neither a bundle (recipe.yaml) nor a data directory (registry.yaml, overlays/, "
                "components/)",
                path);
  }
  LOCKSTEP_TRY(std::string text, SystemFiles().read(path));
  // A recipe, or manifests: those may be several documents.
  auto file = YamlFile::parse(path, text);
  if (file && text_at(file->json, "kind") == "RecipeResult") {
    LOCKSTEP_TRY(bundle::ResolvedRecipe recipe, read_recipe_file(catalogue, path));
    return bundle::check_recipe(rules, recipe, path);
  }
  return bundle::check_manifest_file(text, path);
}

Result<Findings> check_all(const CheckFlags& flags, std::vector<std::string>& left_out) {
  if (flags.paths.empty()) return check_data(flags.catalogue);
  LOCKSTEP_TRY(bundle::Catalogue catalogue, open_catalogue(flags.catalogue));
  LOCKSTEP_TRY(bundle::Rules rules, bundle::read_rules(catalogue));
  Findings findings;
  for (const std::string& path : flags.paths) {
    LOCKSTEP_TRY(Findings found, check_path(path, flags.catalogue, catalogue, rules, left_out));
    findings.insert(findings.end(), found.begin(), found.end());
  }
  return findings;
}

}  // namespace

int run_check(const CheckFlags& flags) {
  std::vector<std::string> left_out;
  auto findings = check_all(flags, left_out);
  if (!findings) return report(findings.error());
  if (flags.output != "table") {
    JsonArray list;
    for (const bundle::Finding& finding : *findings) {
      list.push_back(JsonObject{{"place", finding.place}, {"what", finding.what}});
    }
    print_document(JsonObject{{"findings", std::move(list)}}, flags.output);
  } else {
    for (const bundle::Finding& finding : *findings) {
      fmt::print("{}: {}\n", finding.place, finding.what);
    }
    if (findings->empty()) {
      fmt::print("ok: all derived values match the recipe\n");
    }
    if (!left_out.empty()) {
      fmt::print("left out on purpose (--no-derived): {}\n", join(left_out, ", "));
    }
  }
  return findings->empty() ? ExitCode::ok : ExitCode::failed;
}

}  // namespace lockstep::cli
