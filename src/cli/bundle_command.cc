#include "cli/bundle_command.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "bundle/checksums.h"
#include "bundle/deployers.h"
#include "bundle/make_bundle.h"
#include "cli/exit_codes.h"
#include "cli/oci_output.h"
#include "cli/status_command.h"
#include "data/json.h"
#include "registry/reference.h"
#include "world/directories.h"

namespace lockstep::cli {

namespace {

using bundle::SettingKind;

Result<std::vector<bundle::Setting>> read_settings(const std::vector<GivenSetting>& given) {
  std::vector<bundle::Setting> settings;
  for (const auto& [flag, text] : given) {
    SettingKind kind = flag == "--set-json"     ? SettingKind::json
                       : flag == "--set-string" ? SettingKind::text
                                                : SettingKind::typed;
    LOCKSTEP_TRY(bundle::Setting setting, bundle::parse_setting(text, kind));
    settings.push_back(std::move(setting));
  }
  return settings;
}

Result<bundle::SchedulingFlags> read_scheduling(const BundleFlags& flags) {
  bundle::SchedulingFlags read;
  for (const auto& text : flags.system_node_selector) {
    LOCKSTEP_CHECK(bundle::add_label("--system-node-selector", text, read.system_node_selector));
  }
  for (const auto& text : flags.accelerated_node_selector) {
    LOCKSTEP_CHECK(
        bundle::add_label("--accelerated-node-selector", text, read.accelerated_node_selector));
  }
  for (const auto& text : flags.workload_selector) {
    LOCKSTEP_CHECK(bundle::add_label("--workload-selector", text, read.workload_selector));
  }
  for (const auto& text : flags.system_node_toleration) {
    LOCKSTEP_TRY(auto toleration, bundle::parse_toleration("--system-node-toleration", text));
    read.system_tolerations.push_back(std::move(toleration));
  }
  for (const auto& text : flags.accelerated_node_toleration) {
    LOCKSTEP_TRY(auto toleration, bundle::parse_toleration("--accelerated-node-toleration", text));
    read.accelerated_tolerations.push_back(std::move(toleration));
  }
  if (!flags.workload_gate.empty()) {
    LOCKSTEP_TRY(read.workload_gate, bundle::parse_taint("--workload-gate", flags.workload_gate));
  }
  read.nodes = flags.criteria.said.nodes;
  return read;
}

Result<bundle::BundleRequest> read_request(const bundle::Catalogue& catalogue,
                                           const BundleFlags& flags) {
  bundle::BundleRequest request;
  if (flags.recipe.empty()) {
    if (!has_criteria(flags.criteria)) {
      return fail(ErrorKind::invalid,
                  "pass a resolved recipe (--recipe FILE), or criteria such as --service eks",
                  "bundle");
    }
    LOCKSTEP_TRY(request.recipe, resolve(catalogue, flags.criteria));
  } else {
    if (has_criteria(flags.criteria)) {
      return fail(ErrorKind::invalid,
                  "is already resolved: pass either a recipe or criteria, not both", "--recipe");
    }
    LOCKSTEP_TRY(request.recipe, read_recipe_file(catalogue, flags.recipe));
  }
  LOCKSTEP_TRY(request.settings, read_settings(flags.settings));
  LOCKSTEP_TRY(request.scheduling, read_scheduling(flags));
  request.without_derived = {flags.no_derived.begin(), flags.no_derived.end()};
  request.git_repository = flags.repository;
  request.git_revision = flags.revision;
  request.git_path = flags.path;
  return request;
}

JsonArray texts(const std::vector<std::string>& lines) {
  return JsonArray(lines.begin(), lines.end());
}

Json to_json(const bundle::VerifyReport& found) {
  return JsonObject{{"intact", found.is_intact()},
                    {"changed", texts(found.changed)},
                    {"missing", texts(found.missing)},
                    {"added", texts(found.added)}};
}

struct Written {
  bundle::BundleFiles files;
  size_t releases = 0;
  std::vector<std::string> warnings;
};

Result<Written> make_files(const BundleFlags& flags) {
  LOCKSTEP_TRY(const bundle::Deployer* deployer, bundle::deployer_named(flags.deployer));
  LOCKSTEP_TRY(bundle::Catalogue catalogue, open_catalogue(flags.catalogue));
  LOCKSTEP_TRY(bundle::Rules rules, bundle::read_rules(catalogue));
  LOCKSTEP_TRY(bundle::BundleRequest request, read_request(catalogue, flags));
  LOCKSTEP_TRY(bundle::MadeBundle made, make_bundle(catalogue, rules, request));
  Written written;
  written.warnings = std::move(request.recipe.warnings);
  written.warnings.insert(written.warnings.end(), made.warnings.begin(), made.warnings.end());
  written.releases = made.model.releases.size();
  bool has_charts =
      std::any_of(made.model.releases.begin(), made.model.releases.end(),
                  [](const auto& one) { return one.kind == bundle::ReleaseKind::local; });
  if (deployer->reads_git && has_charts && flags.repository.empty()) {
    written.warnings.push_back(fmt::format(
        "{} reads the bundle's own charts from Git, and --repo was not given: REPLACE the address "
        "in the files (README.md says where)",
        deployer->name));
  }
  LOCKSTEP_TRY(written.files, deployer->write(made.model));
  written.files["checksums.txt"] = {bundle::checksums(written.files), false};
  return written;
}

// What we wrote before may be replaced; anything else in the way may not.
bool is_bundle(const std::vector<std::string>& names) {
  auto has = [&](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return has("checksums.txt") && has("recipe.yaml");
}

Result<void> write_folder(const std::string& folder, bundle::BundleFiles files) {
  Tree tree;
  for (auto& [path, file] : files) {
    tree.emplace_hint(tree.end(), path, TreeFile{std::move(file.content), file.executable});
  }
  return replace_tree(folder, tree, is_bundle);
}

}  // namespace

int run_bundle(const BundleFlags& flags) {
  auto made = make_files(flags);
  if (!made) return report(made.error());
  print_warnings(made->warnings);
  if (flags.dry_run) {
    for (const auto& [path, file] : made->files) fmt::print("{}\n", path);
    return ExitCode::ok;
  }
  size_t count = made->files.size();
  if (registry::looks_like_reference(flags.output)) {
    auto packed = write_oci(flags, made->files);
    return packed ? ExitCode::ok : report(packed.error());
  }
  auto written = write_folder(flags.output, std::move(made->files));
  if (!written) return report(written.error());
  fmt::print("{}: {} releases for {}, {} files\n", flags.output, made->releases, flags.deployer,
             count);
  return ExitCode::ok;
}

int run_verify(const VerifyFlags& flags) {
  auto files = read_tree_with_modes(flags.folder, {}, PassOverGit::at_the_top);
  if (!files) return report(files.error());
  auto listed = files->find("checksums.txt");
  if (listed == files->end()) {
    return report({ErrorKind::not_found, "has no checksums.txt: it is not a bundle", flags.folder});
  }
  bundle::BundleFiles bundle;
  for (auto& [path, file] : *files) bundle[path] = {file.content, file.executable};
  auto found = bundle::verify(listed->second.content, bundle);
  if (!found) return report(found.error().at(flags.folder));
  if (flags.output != "table") {
    print_document(to_json(*found), flags.output);
  } else {
    for (const auto& path : found->changed) fmt::print("changed  {}\n", path);
    for (const auto& path : found->missing) fmt::print("missing  {}\n", path);
    for (const auto& path : found->added) fmt::print("added    {}\n", path);
    if (found->is_intact())
      fmt::print("{}: {} files are unchanged\n", flags.folder, files->size() - 1);
  }
  return found->is_intact() ? ExitCode::ok : ExitCode::failed;
}

}  // namespace lockstep::cli
