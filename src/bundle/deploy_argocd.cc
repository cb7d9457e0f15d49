#include "bundle/deploy_argocd.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "bundle/chart_repositories.h"
#include "bundle/model_check.h"
#include "bundle/release_files.h"
#include "data/yaml.h"

namespace lockstep::bundle {

namespace {

constexpr std::string_view argocd_namespace = "argocd";

JsonObject application_named(std::string_view name) {
  JsonObject metadata;
  metadata["name"] = name;
  metadata["namespace"] = argocd_namespace;
  JsonObject json;
  json["apiVersion"] = "argoproj.io/v1alpha1";
  json["kind"] = "Application";
  json["metadata"] = std::move(metadata);
  return json;
}

JsonObject destination(std::string_view ns) {
  JsonObject json;
  json["server"] = "https://kubernetes.default.svc";
  if (!ns.empty()) json["namespace"] = ns;
  return json;
}

JsonObject sync_policy(const std::vector<std::string_view>& options) {
  JsonObject automated;
  automated["prune"] = true;
  automated["selfHeal"] = true;
  JsonObject backoff;
  backoff["duration"] = "30s";
  backoff["factor"] = 2;
  backoff["maxDuration"] = "10m";
  JsonObject retry;
  retry["limit"] = 10;
  retry["backoff"] = std::move(backoff);
  JsonObject json;
  json["automated"] = std::move(automated);
  json["syncOptions"] = JsonArray(options.begin(), options.end());
  json["retry"] = std::move(retry);
  return json;
}

JsonObject source(const Release& release, const ApplicationTexts& texts) {
  JsonObject json;
  if (release.kind == ReleaseKind::kustomize) {
    json["repoURL"] = release.source;
    json["path"] = release.path.empty() ? "." : release.path;
    json["targetRevision"] = release.tag.empty() ? "HEAD" : release.tag;
    if (!release.ns.empty()) {
      JsonObject kustomize;
      kustomize["namespace"] = release.ns;
      json["kustomize"] = std::move(kustomize);
    }
    return json;
  }
  if (release.kind == ReleaseKind::upstream) {
    // Argo CD knows a registry of charts by an address without "oci://".
    json["repoURL"] = without_oci(release.repository);
    json["chart"] = release.chart;
    json["targetRevision"] = release.version;
  } else {
    json["repoURL"] = texts.git_repository;
    json["path"] = texts.git_path;
    json["targetRevision"] = texts.git_revision;
  }
  // As text: Argo CD drops every null of valuesObject (argoproj/argo-cd issues 16312 and 19781),
  // and Helm removes a default only by a null.
  JsonObject helm;
  helm["releaseName"] = release.name;
  helm["values"] = texts.values;
  json["helm"] = std::move(helm);
  return json;
}

std::string app_of_apps(const BundleModel& model) {
  JsonObject directory;
  directory["recurse"] = true;
  directory["include"] = "*/application.yaml";
  JsonObject where;
  where["repoURL"] = git_repository_of(model);
  where["path"] = path_in_git(model, "");
  where["targetRevision"] = model.git_revision.empty() ? "HEAD" : model.git_revision;
  where["directory"] = std::move(directory);
  JsonObject spec;
  spec["project"] = "default";
  spec["source"] = std::move(where);
  spec["destination"] = destination(argocd_namespace);
  spec["syncPolicy"] = sync_policy({"ServerSideApply=true"});
  JsonObject json = application_named(reserved_name);
  json["spec"] = std::move(spec);
  std::vector<std::string> about = {"The one Application to create: it makes all the others."};
  if (model.git_repository.empty()) about.push_back("REPLACE the address with that of yours.");
  return yaml_file(about, json);
}

std::vector<std::string> about_application(const BundleModel& model, size_t position,
                                           const std::vector<int>& waves) {
  const Release& release = model.releases[position];
  std::vector<std::string> about = {
      fmt::format("The release {}, for Argo CD to install and keep.", release.name)};
  if (position > 0 && waves[position] == waves[position - 1]) {
    about.push_back(fmt::format("Same wave as {}, which may become healthy only with this one.",
                                model.releases[position - 1].name));
  }
  if (release.kind == ReleaseKind::local && model.git_repository.empty()) {
    about.push_back("REPLACE the address with that of your Git repository.");
  }
  return about;
}

}  // namespace

// Argo CD starts a wave when the one before is healthy. A release that no release waits for may
// become healthy only with the next one: the two must share a wave, or the next never starts.
std::vector<int> sync_waves(const BundleModel& model) {
  std::vector<int> waves;
  for (size_t position = 0; position < model.releases.size(); ++position) {
    const bool shares = position > 0 && !model.releases[position - 1].wait;
    waves.push_back(shares ? waves.back() : static_cast<int>(position) + 1);
  }
  return waves;
}

ApplicationTexts application_texts(const BundleModel& model, size_t position) {
  const Release& release = model.releases[position];
  return {.values = values_file(release),
          .git_repository = git_repository_of(model),
          .git_revision = model.git_revision.empty() ? "HEAD" : model.git_revision,
          .git_path = path_in_git(model, release_folder(position, release))};
}

JsonObject application(const BundleModel& model, size_t position, const ApplicationTexts& texts) {
  const Release& release = model.releases[position];
  JsonObject json = application_named(release.name);
  JsonObject annotations;
  annotations["argocd.argoproj.io/sync-wave"] = std::to_string(sync_waves(model)[position]);
  json["metadata"].as_object()["annotations"] = std::move(annotations);
  JsonObject spec;
  spec["project"] = texts.project;
  spec["source"] = source(release, texts);
  spec["destination"] = destination(release.ns);
  // Server-side, because the definitions of custom resources can be too long for the annotation of
  // a client; and a first sync must not stumble over a definition that it brings itself.
  spec["syncPolicy"] = sync_policy(
      {"CreateNamespace=true", "ServerSideApply=true", "SkipDryRunOnMissingResource=true"});
  json["spec"] = std::move(spec);
  return json;
}

std::string application_health_notes() {
  return R"(
Argo CD waits between waves only if it knows when an Application is healthy. Add this to the data of
the ConfigMap `argocd-cm` in the namespace `argocd`, once:

```yaml
resource.customizations.health.argoproj.io_Application: |
  local result = {status = "Progressing", message = ""}
  local status = obj.status or {}
  local operation = status.operationState or {}
  if status.health ~= nil and status.health.status ~= nil then
    result.status = status.health.status
    result.message = status.health.message or ""
  end
  if result.status == "Healthy" and operation.phase ~= "Succeeded" then
    result.status = "Progressing"
    result.message = "the sync is not over"
  end
  return result
```
)";
}

Result<BundleFiles> deploy_with_argocd(const BundleModel& model) {
  LOCKSTEP_CHECK(check_model(model));
  BundleFiles files;
  add_release_folders(files, model, false);
  const std::vector<int> waves = sync_waves(model);
  for (size_t position = 0; position < model.releases.size(); ++position) {
    const std::string folder = release_folder(position, model.releases[position]);
    files[folder + "/application.yaml"] = {
        yaml_file(about_application(model, position, waves),
                  application(model, position, application_texts(model, position)))};
  }
  files["app-of-apps.yaml"] = {app_of_apps(model)};
  std::vector<std::string> steps = placeholder_step(model);
  steps.insert(steps.end(),
               {"Commit this folder to the Git repository that `app-of-apps.yaml` names.",
                "Teach Argo CD the health of Applications (below), if it does not know it yet.",
                "`kubectl apply -f app-of-apps.yaml`"});
  add_recipe_and_readme(files, model, "A bundle for Argo CD", steps);
  files["README.md"].content += application_health_notes();
  return files;
}

}  // namespace lockstep::bundle
