#include "bundle/deploy_flux.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bundle/chart_repositories.h"
#include "bundle/model_check.h"
#include "bundle/release_files.h"

namespace lockstep::bundle {

namespace {

// Where Flux itself lives, and with it all of these objects; the releases go to their own
// namespaces.
constexpr std::string_view flux_namespace = "flux-system";
constexpr std::string_view bundle_source = reserved_name;
constexpr std::string_view interval = "10m";
constexpr int retries = 3;

JsonObject object_named(std::string_view api_version, std::string_view kind,
                        std::string_view name) {
  JsonObject metadata;
  metadata["name"] = name;
  metadata["namespace"] = flux_namespace;
  JsonObject json;
  json["apiVersion"] = api_version;
  json["kind"] = kind;
  json["metadata"] = std::move(metadata);
  return json;
}

JsonObject reference(std::string_view kind, std::string_view name) {
  JsonObject json;
  json["kind"] = kind;
  json["name"] = name;
  return json;
}

// "v1.2.3", "2026.11": names that are versions and not branches.
bool is_version(const std::string& revision) {
  std::string_view text = revision;
  if (text.starts_with('v')) text.remove_prefix(1);
  return !text.empty() && text.find('.') != std::string_view::npos && text.front() >= '0' &&
         text.front() <= '9' && text.find('/') == std::string_view::npos;
}

// What a name means to Git, if it does not say so itself.
JsonObject git_reference(const std::string& revision, std::string_view otherwise) {
  const bool is_commit =
      revision.size() == 40 && revision.find_first_not_of("0123456789abcdef") == std::string::npos;
  JsonObject json;
  json[is_commit ? "commit" : revision.starts_with("refs/") ? "name" : otherwise] = revision;
  return json;
}

JsonObject git_source(std::string_view name, std::string_view url, JsonObject ref) {
  JsonObject json = object_named("source.toolkit.fluxcd.io/v1", "GitRepository", name);
  JsonObject spec;
  spec["interval"] = interval;
  spec["url"] = url;
  spec["ref"] = std::move(ref);
  json["spec"] = std::move(spec);
  return json;
}

JsonObject helm_source(const ChartRepository& repository) {
  JsonObject json = object_named("source.toolkit.fluxcd.io/v1", "HelmRepository", repository.name);
  JsonObject spec;
  if (repository.is_oci) spec["type"] = "oci";
  spec["interval"] = "1h";
  spec["url"] = repository.url;
  json["spec"] = std::move(spec);
  return json;
}

// Flux lets a HelmRelease wait for HelmReleases alone, and a Kustomization for Kustomizations. What
// lies behind one of the other sort is waited for in its place.
std::vector<std::string> needs_of_same_sort(const BundleModel& model, const Release& release) {
  std::map<std::string, const Release*> by_name;
  for (const Release& other : model.releases) by_name[other.name] = &other;
  const bool is_kustomize = release.kind == ReleaseKind::kustomize;
  std::vector<std::string> found;
  std::set<std::string> seen;
  std::vector<std::string> open(release.needs.rbegin(), release.needs.rend());
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    if (!seen.insert(name).second) continue;
    const Release& need = *by_name.at(name);
    if ((need.kind == ReleaseKind::kustomize) == is_kustomize) {
      found.push_back(name);
    } else {
      open.insert(open.end(), need.needs.rbegin(), need.needs.rend());
    }
  }
  return found;
}

void add_dependencies(JsonObject& spec, const BundleModel& model, const Release& release) {
  JsonArray list;
  for (const std::string& need : needs_of_same_sort(model, release)) {
    JsonObject entry;
    entry["name"] = need;
    list.push_back(std::move(entry));
  }
  if (!list.empty()) spec["dependsOn"] = std::move(list);
}

JsonObject chart_of(const BundleModel& model, const Release& release,
                    const std::vector<ChartRepository>& repositories) {
  JsonObject spec;
  if (release.kind == ReleaseKind::local) {
    spec["chart"] = "./" + path_in_git(model, release.name);
    spec["sourceRef"] = reference("GitRepository", bundle_source);
    // The bundle's charts keep their version: what counts is the commit.
    spec["reconcileStrategy"] = "Revision";
  } else {
    spec["chart"] = release.chart;
    spec["version"] = release.version;
    spec["sourceRef"] =
        reference("HelmRepository", repository_of(repositories, release.repository).name);
  }
  spec["interval"] = interval;
  JsonObject chart;
  chart["spec"] = std::move(spec);
  return chart;
}

// `install` and `upgrade` say the same but for the namespace.
JsonObject action(const Release& release, bool is_install) {
  JsonObject json;
  if (is_install) json["createNamespace"] = true;
  json["disableWait"] = !release.wait;
  json["disableWaitForJobs"] = !release.wait_for_jobs;
  JsonObject remediation;
  remediation["retries"] = retries;
  json["remediation"] = std::move(remediation);
  return json;
}

JsonObject helm_release(const BundleModel& model, const Release& release,
                        const std::vector<ChartRepository>& repositories) {
  JsonObject json = object_named("helm.toolkit.fluxcd.io/v2", "HelmRelease", release.name);
  JsonObject spec;
  spec["interval"] = interval;
  spec["timeout"] = fmt::format("{}s", release.timeout_seconds);
  spec["releaseName"] = release.name;
  spec["targetNamespace"] = release.ns;
  // Helm's own record is where a manual `helm` puts it, so that either can take over.
  spec["storageNamespace"] = release.ns;
  add_dependencies(spec, model, release);
  spec["chart"] = chart_of(model, release, repositories);
  spec["install"] = action(release, true);
  spec["upgrade"] = action(release, false);
  spec["values"] = release.values;
  json["spec"] = std::move(spec);
  return json;
}

// "./deploy/base", however it was written.
std::string flux_path(std::string_view path) {
  while (path.starts_with("./")) path.remove_prefix(2);
  while (path.starts_with('/')) path.remove_prefix(1);
  return fmt::format("./{}", path);
}

JsonObject flux_kustomization(const BundleModel& model, const Release& release) {
  JsonObject json = object_named("kustomize.toolkit.fluxcd.io/v1", "Kustomization", release.name);
  JsonObject spec;
  spec["interval"] = interval;
  spec["retryInterval"] = "1m";
  spec["timeout"] = fmt::format("{}s", release.timeout_seconds);
  add_dependencies(spec, model, release);
  if (!release.ns.empty()) spec["targetNamespace"] = release.ns;
  spec["sourceRef"] = reference("GitRepository", release.name);
  spec["path"] = flux_path(release.path);
  spec["prune"] = true;
  spec["wait"] = release.wait;
  json["spec"] = std::move(spec);
  return json;
}

// Flux's Kustomization does not make the namespace that it deploys to.
JsonObject namespace_of(const Release& release) {
  JsonObject metadata;
  metadata["name"] = release.ns;
  JsonObject json;
  json["apiVersion"] = "v1";
  json["kind"] = "Namespace";
  json["metadata"] = std::move(metadata);
  return json;
}

class FluxWriter {
 public:
  explicit FluxWriter(const BundleModel& model)
      : model_(model), repositories_(chart_repositories(model)) {}

  BundleFiles write() {
    add_sources();
    for (const Release& release : model_.releases) {
      if (release.kind == ReleaseKind::kustomize) {
        add_kustomize(release);
      } else {
        add_helm(release);
      }
    }
    add_list();
    return std::move(files_);
  }

  bool uses_git() const {
    return std::any_of(model_.releases.begin(), model_.releases.end(),
                       [](const Release& release) { return release.kind == ReleaseKind::local; });
  }

 private:
  void add_object(const std::string& path, std::vector<std::string> about, const JsonObject& json) {
    files_[path] = {yaml_file(about, json)};
    resources_.push_back(Json(path));
  }

  void add_sources() {
    for (const ChartRepository& repository : repositories_) {
      add_object(fmt::format("sources/helmrepository-{}.yaml", repository.name),
                 {"A repository of charts that releases of this bundle come from."},
                 helm_source(repository));
    }
    if (!uses_git()) return;
    std::vector<std::string> about = {"The Git repository that holds this bundle and its charts."};
    if (model_.git_repository.empty()) about.push_back("REPLACE the address with that of yours.");
    const std::string revision = model_.git_revision.empty() ? "main" : model_.git_revision;
    add_object("sources/gitrepository-bundle.yaml", std::move(about),
               git_source(bundle_source, git_repository_of(model_),
                          git_reference(revision, is_version(revision) ? "tag" : "branch")));
  }

  void add_helm(const Release& release) {
    if (release.kind == ReleaseKind::local) add_chart_files(files_, release.name, release);
    add_object(release.name + "/helmrelease.yaml",
               {fmt::format("The release {}, for Flux to install and keep.", release.name)},
               helm_release(model_, release, repositories_));
  }

  void add_kustomize(const Release& release) {
    const std::string revision = release.tag.empty() ? "main" : release.tag;
    add_object(fmt::format("sources/gitrepository-release-{}.yaml", release.name),
               {fmt::format("The Git repository of the release {}.", release.name)},
               git_source(release.name, release.source,
                          git_reference(revision, release.tag.empty() ? "branch" : "tag")));
    // One object for each namespace: kustomize refuses a second of the same name.
    if (!release.ns.empty() && namespaces_.insert(release.ns).second) {
      add_object(release.name + "/namespace.yaml",
                 {fmt::format("The namespace of the release {}.", release.name)},
                 namespace_of(release));
    }
    add_object(release.name + "/flux-kustomization.yaml",
               {fmt::format("The release {}, for Flux to apply and keep.", release.name)},
               flux_kustomization(model_, release));
  }

  void add_list() {
    JsonObject list;
    list["apiVersion"] = "kustomize.config.k8s.io/v1beta1";
    list["kind"] = "Kustomization";
    list["resources"] = resources_;
    files_["kustomization.yaml"] = {
        yaml_file({"Everything that Flux has to know of this bundle."}, list)};
  }

  const BundleModel& model_;
  std::vector<ChartRepository> repositories_;
  BundleFiles files_;
  JsonArray resources_;
  std::set<std::string> namespaces_;
};

}  // namespace

Result<BundleFiles> deploy_with_flux(const BundleModel& model) {
  LOCKSTEP_CHECK(check_model(model));
  if (model.git_repository.starts_with("oci://")) {
    return fail(ErrorKind::invalid,
                "Flux takes the bundle's own charts from Git only: an https or ssh address",
                "--repo " + model.git_repository);
  }
  FluxWriter writer(model);
  BundleFiles files = writer.write();
  std::vector<std::string> steps;
  if (writer.uses_git()) steps = placeholder_step(model);
  steps.insert(
      steps.end(),
      {"Have Flux apply this folder of your Git repository, or do it yourself: "
       "`kubectl apply -k .`",
       "`flux get helmreleases --namespace flux-system` shows how far it is. The objects are in "
       "flux-system, where Flux lives; the releases go to the namespaces below.",
       "A release that needs one of another kind (Helm, Kustomize) is tried again until that one "
       "is there: Flux cannot wait across the two."});
  add_recipe_and_readme(files, model, "A bundle for Flux", steps);
  return files;
}

}  // namespace lockstep::bundle
