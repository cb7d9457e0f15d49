#include "bundle/deploy_argocd_helm.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bundle/chart_text.h"
#include "bundle/deploy_argocd.h"
#include "bundle/model_check.h"
#include "bundle/release_files.h"
#include "data/yaml.h"

namespace lockstep::bundle {

namespace {

// The Application as the argocd deployer writes it, with expressions of Helm in place of what is a
// value of the chart. The values of the release are not part of the template: they stay in their
// file, which Helm reads and does not render.
std::string application_template(const BundleModel& model, size_t position) {
  const std::string folder = release_folder(position, model.releases[position]);
  const ApplicationTexts marks = {.values = text_mark("values"),
                                  .git_repository = text_mark("repository"),
                                  .git_revision = text_mark("revision"),
                                  .git_path = text_mark("path"),
                                  .project = text_mark("project")};
  const std::string yaml = chart_text(print_yaml(application(model, position, marks)));
  return replace_marks(
      yaml,
      {{marks.values, fmt::format(R"({{{{ .Files.Get "{}/values.yaml" | toJson }}}})", folder)},
       {marks.git_repository, "{{ .Values.repoURL | toJson }}"},
       {marks.git_revision, "{{ .Values.targetRevision | toJson }}"},
       {marks.git_path,
        fmt::format(R"({{{{ list .Values.path "{}" | compact | join "/" | toJson }}}})", folder)},
       {marks.project, "{{ .Values.project | toJson }}"}});
}

std::string chart_file() {
  JsonObject chart;
  chart["apiVersion"] = "v2";
  chart["name"] = reserved_name;
  chart["version"] = "0.1.0";
  chart["description"] = "Argo CD Applications of a bundle";
  chart["type"] = "application";
  return yaml_file({"A chart of Argo CD Applications, one for each release of this bundle."},
                   chart);
}

std::string values_file_of_chart(const BundleModel& model) {
  const std::string path = path_in_git(model, "");
  JsonObject values;
  values["repoURL"] = git_repository_of(model);
  values["targetRevision"] = model.git_revision.empty() ? "HEAD" : model.git_revision;
  values["path"] = path == "." ? "" : path;
  values["project"] = "default";
  return yaml_file({"Where Argo CD finds this bundle: the Git repository, the revision, the folder",
                    "in it, and the project of the Applications. Set them when you install it."},
                   values);
}

// The folders are in Git for Argo CD; in the chart only their values.yaml is used, and a chart must
// fit into one Secret.
constexpr std::string_view ignored =
    R"(# What Helm leaves out of this chart: Argo CD reads it from Git.
/.git
/README.md
/recipe.yaml
/checksums.txt
/*/templates/
/*/Chart.yaml
/*/install.sh
/*/upstream.env
/*/kustomization.yaml
)";

}  // namespace

Result<BundleFiles> deploy_with_argocd_helm(const BundleModel& model) {
  LOCKSTEP_CHECK(check_model(model));
  BundleFiles files;
  add_release_folders(files, model, false);
  for (size_t position = 0; position < model.releases.size(); ++position) {
    const Release& release = model.releases[position];
    files[fmt::format("templates/{}.yaml", release_folder(position, release))] = {
        fmt::format("# The release {}, for Argo CD to install and keep.\n", release.name) +
        application_template(model, position)};
  }
  files["Chart.yaml"] = {chart_file()};
  files["values.yaml"] = {values_file_of_chart(model)};
  files[".helmignore"] = {std::string(ignored)};
  add_recipe_and_readme(
      files, model, "A bundle for Argo CD, as a chart",
      {"Commit this folder to a Git repository.",
       "Teach Argo CD the health of Applications (below), if it does not know it yet.",
       "`helm install lockstep-bundle . --namespace argocd --set repoURL=ADDRESS --set "
       "path=FOLDER` makes the Applications below; or let an Application of yours do it, with this "
       "folder as its source, which also waits between the waves."});
  files["README.md"].content += application_health_notes();
  return files;
}

}  // namespace lockstep::bundle
