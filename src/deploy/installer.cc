#include "deploy/installer.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "deploy/manifest_kinds.h"
#include "fleet/keys.h"
#include "fleet/state.h"

namespace lockstep::deploy {

namespace {

constexpr std::string_view field_manager = "lockstep-install";
constexpr std::string_view managed_by = "app.kubernetes.io/managed-by";
constexpr std::string_view keep_annotation = "helm.sh/resource-policy";
constexpr std::string_view our_mark = "lockstep";
constexpr std::string_view release_annotation = "lockstep.dev/release";
constexpr std::string_view state_key_end = "/gpu-driver-upgrade-state";
// The controller's pods need no more; all that is privileged has a namespace of its own.
constexpr std::string_view pod_security = "pod-security.kubernetes.io/enforce";

std::string mark_of(const ReleaseName& release) {
  return fmt::format("{}/{}", release.ns, release.name);
}

std::string_view annotation(const Json& object, std::string_view key) {
  return text_at(object, "metadata", "annotations", key);
}
std::string_view label(const Json& object, std::string_view key) {
  return text_at(object, "metadata", "labels", key);
}

Json marked(Json object, const ReleaseName& release) {
  JsonObject& metadata = ensure_object(object.as_object(), "metadata");
  ensure_object(metadata, "labels")[managed_by] = our_mark;
  ensure_object(metadata, "annotations")[release_annotation] = mark_of(release);
  return object;
}

Result<void> check_owner(const Json& there, const ReleaseName& release) {
  // What outlives a release is left behind by one, and belongs to the next.
  if (annotation(there, keep_annotation) == "keep") return {};
  std::string_view owner = label(there, managed_by);
  std::string_view marked_for = annotation(there, release_annotation);
  if (owner == our_mark && marked_for == mark_of(release)) return {};
  // A controller that runs outside of the cluster made it, as where its gates run.
  if (owner == our_mark && marked_for.empty()) return {};
  if (owner == "Helm") {
    return fail(
        ErrorKind::exists,
        fmt::format("Helm installed it, as {}: use helm upgrade, or helm uninstall it first",
                    annotation(there, "meta.helm.sh/release-name")),
        describe(there));
  }
  if (owner == our_mark) {
    return fail(ErrorKind::exists, fmt::format("it belongs to another install, {}", marked_for),
                describe(there));
  }
  return fail(ErrorKind::exists,
              "it exists, and lockstep install did not create it: --force takes it over",
              describe(there));
}

// The objects as they are in the cluster; null for missing ones.
Result<std::vector<Document>> look(kube::SyncApi& api, const ReleaseName& release,
                                   const std::vector<Manifest>& manifests, bool force) {
  std::vector<Document> there;
  for (const Manifest& manifest : manifests) {
    LOCKSTEP_TRY(ResourceType type, kind_of(manifest.object));
    auto held = api.get(type, key_of(manifest.object));
    if (!held && held.error().kind == ErrorKind::not_found) {
      there.push_back(nullptr);
      continue;
    }
    if (!held) return fail(held.error().at(describe(manifest.object)));
    if (!force) LOCKSTEP_CHECK(check_owner(**held, release));
    there.push_back(*held);
  }
  return there;
}

Result<void> ensure_namespace(kube::SyncApi& api, const std::string& ns,
                              std::vector<ObjectChange>& changes) {
  auto held = api.get(resource::namespaces, {"", ns});
  if (held) return {};
  if (held.error().kind != ErrorKind::not_found) return fail(held.error().at("Namespace " + ns));
  auto made = api.create(
      resource::namespaces, "",
      JsonObject{{"apiVersion", "v1"},
                 {"kind", "Namespace"},
                 {"metadata",
                  JsonObject{{"name", ns}, {"labels", JsonObject{{pod_security, "restricted"}}}}}});
  if (!made && made.error().kind != ErrorKind::exists)
    return fail(made.error().at("Namespace " + ns));
  changes.push_back({"created", "Namespace " + ns});
  return {};
}

// Without what the cluster itself writes all the time.
Json own_part(Json object) {
  erase_key(object.as_object(), "status");
  JsonObject& metadata = ensure_object(object.as_object(), "metadata");
  for (const char* key : {"resourceVersion", "managedFields", "generation"})
    erase_key(metadata, key);
  erase_key(ensure_object(metadata, "annotations"), "deployment.kubernetes.io/revision");
  return object;
}

Result<ObjectChange> apply(kube::SyncApi& api, const ReleaseName& release, const Json& object,
                           const Json* before) {
  LOCKSTEP_TRY(ResourceType type, kind_of(object));
  kube::Request request =
      kube::patch(type, key_of(object), kube::PatchType::apply, marked(object, release));
  request.with("fieldManager", std::string(field_manager)).with("force", "true");
  auto applied = kube::document_of(api.call(std::move(request)));
  if (!applied) {
    Error error = applied.error();
    // The path itself is unknown, as where the Prometheus Operator is missing; or its namespace is.
    if (error.kind == ErrorKind::not_found && !error.message.starts_with("namespaces ")) {
      error.message =
          fmt::format("the cluster has no {} ({}): disable it, or install its definition",
                      type.kind, type.api_version());
    }
    return fail(error.at(describe(object)));
  }
  if (before == nullptr) return ObjectChange{"created", describe(object)};
  bool same = json_equal(own_part(*before), own_part(**applied));
  return ObjectChange{same ? "unchanged" : "changed", describe(object)};
}

// All objects with this release's mark, but for `wanted`, the last kind first.
Result<void> remove_others(kube::SyncApi& api, const ReleaseName& release,
                           const std::set<std::string>& wanted,
                           std::vector<ObjectChange>& changes) {
  std::vector<ResourceType> kinds = installed_kinds();
  std::reverse(kinds.begin(), kinds.end());
  for (const ResourceType& type : kinds) {
    kube::Request request = kube::list(type);
    request.with("labelSelector", fmt::format("{}={}", managed_by, our_mark));
    auto listed = api.list(std::move(request));
    // A kind that the cluster does not know has no objects.
    if (!listed && listed.error().kind == ErrorKind::not_found) continue;
    if (!listed) return fail(listed.error().at("list " + type.full_name()));
    for (const Document& item : listed->items) {
      Json object = *item;
      object.as_object()["kind"] = type.kind;
      if (annotation(object, release_annotation) != mark_of(release)) continue;
      if (wanted.contains(describe(object))) continue;
      // As Helm has it: with a definition every object of its kind would go.
      if (annotation(object, keep_annotation) == "keep") continue;
      JsonObject preconditions{{"uid", text_at(object, "metadata", "uid")}};
      auto removed =
          api.remove(type, key_of(object), JsonObject{{"preconditions", std::move(preconditions)}});
      if (!removed && removed.error().kind != ErrorKind::not_found) {
        return fail(removed.error().at(describe(object)));
      }
      changes.push_back({"removed", describe(object)});
    }
  }
  return {};
}

}  // namespace

Result<std::vector<ObjectChange>> install(kube::SyncApi& api, const ReleaseName& release,
                                          const std::vector<Manifest>& manifests,
                                          const InstallOptions& options) {
  std::vector<ObjectChange> changes;
  LOCKSTEP_TRY(std::vector<Document> there, look(api, release, manifests, options.force));
  LOCKSTEP_CHECK(ensure_namespace(api, release.ns, changes));
  std::set<std::string> wanted;
  for (size_t i = 0; i < manifests.size(); ++i) {
    LOCKSTEP_TRY(ObjectChange change, apply(api, release, manifests[i].object, there[i].get()));
    wanted.insert(change.object);
    changes.push_back(std::move(change));
  }
  LOCKSTEP_CHECK(remove_others(api, release, wanted, changes));
  return changes;
}

Result<std::vector<ObjectChange>> uninstall(kube::SyncApi& api, const ReleaseName& release) {
  std::vector<ObjectChange> changes;
  LOCKSTEP_CHECK(remove_others(api, release, {}, changes));
  return changes;
}

Result<std::vector<ObjectChange>> release_nodes(kube::SyncApi& api) {
  LOCKSTEP_TRY(kube::SyncApi::Items nodes, api.list(kube::list(resource::nodes)));
  const Json patch =
      JsonObject{{"metadata",
                  JsonObject{{"labels", JsonObject{{fleet::Keys().skip, nullptr}}},
                             {"annotations", JsonObject{{fleet::kept_back_annotation, nullptr}}}}}};
  std::vector<ObjectChange> changes;
  for (const Document& node : nodes.items) {
    if (text_at(*node, "metadata", "annotations", fleet::kept_back_annotation).empty()) continue;
    const std::string name(text_at(*node, "metadata", "name"));
    auto written = api.patch(resource::nodes, {"", name}, kube::PatchType::merge, patch);
    if (!written && written.error().kind == ErrorKind::not_found) continue;
    if (!written) return fail(written.error().at("node " + name));
    changes.push_back({"released", "Node " + name});
  }
  return changes;
}

Result<std::vector<std::string>> nodes_in_flight(kube::SyncApi& api) {
  LOCKSTEP_TRY(kube::SyncApi::Items nodes, api.list(kube::list(resource::nodes)));
  std::vector<std::string> names;
  for (const Document& node : nodes.items) {
    const Json* labels = find(*node, "metadata", "labels");
    if (labels == nullptr || !labels->is_object()) continue;
    // Whatever the controller's domain is.
    bool active = std::any_of(labels->get_object().begin(), labels->get_object().end(),
                              [](const auto& entry) {
                                if (!std::string_view(entry.key()).ends_with(state_key_end))
                                  return false;
                                return fleet::is_active(fleet::state_of(as_text(&entry.value())));
                              });
    if (active) names.emplace_back(text_at(*node, "metadata", "name"));
  }
  return names;
}

std::string missing_of_deployment(const Json& deployment) {
  int64_t wanted = as_integer(find(deployment, "spec", "replicas"), 1);
  int64_t generation = as_integer(find(deployment, "metadata", "generation"));
  if (as_integer(find(deployment, "status", "observedGeneration")) < generation) {
    return "the Deployment's controller has not observed it yet";
  }
  int64_t updated = as_integer(find(deployment, "status", "updatedReplicas"));
  int64_t all = as_integer(find(deployment, "status", "replicas"));
  int64_t available = as_integer(find(deployment, "status", "availableReplicas"));
  if (updated < wanted) return fmt::format("{} of {} pods have the new version", updated, wanted);
  if (all > updated) return fmt::format("{} pods of the old version still exist", all - updated);
  if (available < wanted) return fmt::format("{} of {} pods are available", available, wanted);
  return "";
}

}  // namespace lockstep::deploy
