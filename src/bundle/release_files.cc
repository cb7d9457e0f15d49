#include "bundle/release_files.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "bundle/install_script.h"
#include "bundle/shell_text.h"
#include "data/yaml.h"

namespace lockstep::bundle {

namespace {

std::string upstream_env(const Release& release) {
  return fmt::format(
      "# The chart of the release {} and its exact version. install.sh reads this file.\n"
      "CHART={}\nREPO={}\nVERSION={}\n",
      release.name, shell_word(release.chart), shell_word(release.repository),
      shell_word(release.version));
}

std::string chart_file(const Release& release) {
  JsonObject chart;
  chart["apiVersion"] = "v2";
  chart["name"] = release.name;
  chart["version"] = release.chart_version;
  chart["description"] = fmt::format("Manifests of the component {}", release.component);
  chart["type"] = "application";
  return yaml_file(
      {fmt::format("The chart of the release {}; Helm renders its templates.", release.name)},
      chart);
}

std::string kustomization_file(const Release& release) {
  JsonObject kustomization;
  kustomization["apiVersion"] = "kustomize.config.k8s.io/v1beta1";
  kustomization["kind"] = "Kustomization";
  if (!release.ns.empty()) kustomization["namespace"] = release.ns;
  kustomization["resources"] = JsonArray({Json(kustomize_url(release))});
  return yaml_file(
      {fmt::format("The manifests of the release {}, at their exact version.", release.name)},
      kustomization);
}

std::string origin_of(const Release& release) {
  switch (release.kind) {
    case ReleaseKind::upstream:
      return fmt::format("{} of {}", release.chart, release.repository);
    case ReleaseKind::local:
      return "a chart in this bundle";
    case ReleaseKind::kustomize:
      return fmt::format("kustomize: {}", release.source);
  }
  return {};
}

std::string version_of(const Release& release) {
  switch (release.kind) {
    case ReleaseKind::upstream:
      return release.version;
    case ReleaseKind::local:
      return release.chart_version;
    case ReleaseKind::kustomize:
      return release.tag;
  }
  return {};
}

std::string readme(const BundleModel& model, std::string_view title,
                   const std::vector<std::string>& steps) {
  std::string text = fmt::format("# {}\n\n", title);
  int number = 0;
  for (const std::string& step : steps) text += fmt::format("{}. {}\n", ++number, step);
  text +=
      "\nEvery version is in `recipe.yaml`. `checksums.txt` covers every other file:\n"
      "`lockstep verify .` finds what was changed since.\n\n"
      "| | Release | Component | Namespace | From | Version |\n|---|---|---|---|---|---|\n";
  number = 0;
  for (const Release& release : model.releases) {
    const std::string& shown =
        release.display_name.empty() ? release.component : release.display_name;
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", ++number, markdown_text(release.name),
                        markdown_text(shown), markdown_text(release.ns),
                        markdown_text(origin_of(release)), markdown_text(version_of(release)));
  }
  return text;
}

}  // namespace

std::string yaml_file(const std::vector<std::string>& about, const Json& document) {
  std::string text;
  for (const std::string& line : about) text += fmt::format("# {}\n", line);
  return text + print_yaml(document);
}

std::string values_file(const Release& release) {
  return yaml_file(
      {fmt::format("Values of the release {}, the same for every deployer.", release.name)},
      release.values);
}

void add_chart_files(BundleFiles& files, const std::string& folder, const Release& release) {
  files[folder + "/Chart.yaml"] = {chart_file(release)};
  files[folder + "/values.yaml"] = {values_file(release)};
  for (const auto& [name, text] : release.templates) {
    files[fmt::format("{}/templates/{}", folder, name)] = {text};
  }
}

void add_release_folders(BundleFiles& files, const BundleModel& model, bool install_local_charts) {
  for (size_t position = 0; position < model.releases.size(); ++position) {
    const Release& release = model.releases[position];
    const std::string folder = release_folder(position, release);
    switch (release.kind) {
      case ReleaseKind::upstream:
        files[folder + "/upstream.env"] = {upstream_env(release)};
        files[folder + "/values.yaml"] = {values_file(release)};
        break;
      case ReleaseKind::local:
        add_chart_files(files, folder, release);
        break;
      case ReleaseKind::kustomize:
        files[folder + "/kustomization.yaml"] = {kustomization_file(release)};
        break;
    }
    if (release.kind != ReleaseKind::local || install_local_charts) {
      files[folder + "/install.sh"] = {install_script(release), true};
    }
  }
}

std::string kustomize_url(const Release& release) {
  std::string url = release.source;
  if (!release.path.empty()) {
    std::string_view path = release.path;
    while (path.starts_with('/')) path.remove_prefix(1);
    url += fmt::format("//{}", path);
  }
  if (!release.tag.empty()) url += fmt::format("?ref={}", url_encode(release.tag));
  return url;
}

void add_recipe_and_readme(BundleFiles& files, const BundleModel& model, std::string_view title,
                           const std::vector<std::string>& steps) {
  files["recipe.yaml"] = {
      yaml_file({"The recipe that this bundle was made from: the one source of its versions."},
                to_json(model.recipe))};
  files["README.md"] = {readme(model, title, steps)};
}

std::string markdown_text(std::string_view text) {
  constexpr std::string_view special = "\\`*_{}[]<>()#!|~&$";
  std::string line;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      line += ' ';
      continue;
    }
    if (special.find(c) != std::string_view::npos) line += '\\';
    line += c;
  }
  return line;
}

std::string git_repository_of(const BundleModel& model) {
  return model.git_repository.empty() ? std::string(git_placeholder) : model.git_repository;
}

std::string path_in_git(const BundleModel& model, std::string_view folder) {
  std::string_view path = model.git_path;
  while (path.starts_with("./")) path.remove_prefix(2);
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.empty() || path == ".") return std::string(folder.empty() ? "." : folder);
  return folder.empty() ? std::string(path) : fmt::format("{}/{}", path, folder);
}

std::vector<std::string> placeholder_step(const BundleModel& model) {
  if (!model.git_repository.empty()) return {};
  return {
      fmt::format("Commit this folder to a Git repository and write its address in place of "
                  "`{}`, or make the bundle again with the address.",
                  git_placeholder)};
}

}  // namespace lockstep::bundle
