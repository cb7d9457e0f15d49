#include "bundle/deploy_helmfile.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bundle/chart_repositories.h"
#include "bundle/chart_text.h"
#include "bundle/model_check.h"
#include "bundle/release_files.h"

namespace lockstep::bundle {

namespace {

// A release as `needs` names it.
std::string full_name(const Release& release) {
  return release.ns.empty() ? release.name : fmt::format("{}/{}", release.ns, release.name);
}

JsonArray needs_of(const BundleModel& model, const Release& release) {
  JsonArray needs;
  for (const std::string& need : release.needs) {
    for (const Release& other : model.releases) {
      if (other.name == need) needs.push_back(Json(full_name(other)));
    }
  }
  return needs;
}

JsonObject release_json(const BundleModel& model, size_t position,
                        const std::vector<ChartRepository>& repositories) {
  const Release& release = model.releases[position];
  const std::string folder = release_folder(position, release);
  JsonObject json;
  json["name"] = release.name;
  if (!release.ns.empty()) json["namespace"] = release.ns;
  if (release.kind == ReleaseKind::upstream) {
    json["chart"] =
        fmt::format("{}/{}", repository_of(repositories, release.repository).name, release.chart);
    json["version"] = release.version;
  } else {
    // Helmfile makes a chart of a folder with a kustomization.yaml.
    json["chart"] = "./" + folder;
  }
  if (release.kind != ReleaseKind::kustomize) {
    json["values"] = JsonArray({Json(folder + "/values.yaml")});
  }
  JsonArray needs = needs_of(model, release);
  if (!needs.empty()) json["needs"] = std::move(needs);
  json["createNamespace"] = !release.ns.empty();
  // Before the first run the cluster lacks the definitions of custom resources that an earlier
  // release will bring, and comparing with it would fail.
  json["disableValidationOnInstall"] = true;
  json["wait"] = release.wait;
  json["waitForJobs"] = release.wait && release.wait_for_jobs;
  json["timeout"] = release.timeout_seconds;
  return json;
}

JsonObject helmfile_json(const BundleModel& model) {
  const std::vector<ChartRepository> repositories = chart_repositories(model);
  JsonObject json;
  JsonArray repository_list;
  for (const ChartRepository& repository : repositories) {
    JsonObject entry;
    entry["name"] = repository.name;
    entry["url"] = without_oci(repository.url);
    if (repository.is_oci) entry["oci"] = true;
    repository_list.push_back(std::move(entry));
  }
  if (!repository_list.empty()) json["repositories"] = std::move(repository_list);
  JsonArray releases;
  for (size_t position = 0; position < model.releases.size(); ++position) {
    releases.push_back(release_json(model, position, repositories));
  }
  json["releases"] = std::move(releases);
  return json;
}

}  // namespace

Result<BundleFiles> deploy_with_helmfile(const BundleModel& model) {
  LOCKSTEP_CHECK(check_model(model));
  BundleFiles files;
  add_release_folders(files, model, false);
  // Helmfile 0 renders this file as a template and Helmfile 1 does not.
  files["helmfile.yaml"] = {"# Every release of this bundle; `needs` says what comes before it.\n" +
                            print_yaml_without_braces(helmfile_json(model))};
  add_recipe_and_readme(
      files, model, "A bundle for Helmfile",
      {"`helmfile init` installs the plugins of Helm that it needs; a release of Kustomize also "
       "needs the program kustomize.",
       "`helmfile diff` shows what would change in the cluster that kubectl speaks to.",
       "`helmfile apply` installs or upgrades the releases below, each after those it needs.",
       "`helmfile destroy` takes everything away again."});
  return files;
}

}  // namespace lockstep::bundle
