#include "apiserver/verbs/housekeeping.h"

#include <algorithm>
#include <map>
#include <utility>

#include "apiserver/verbs/deleting.h"
#include "apiserver/verbs/disruption.h"
#include "apiserver/verbs/writing.h"

namespace lockstep::apiserver {

namespace {

bool has_finalizer(const Json& object, std::string_view name) {
  const Json* finalizers = find(object, "metadata", "finalizers");
  if (finalizers == nullptr || !finalizers->is_array()) return false;
  return std::any_of(finalizers->get_array().begin(), finalizers->get_array().end(),
                     [&](const Json& finalizer) { return as_text(&finalizer) == name; });
}

const JsonArray& owners_of(const Json& object) {
  static const JsonArray none;
  const Json* owners = find(object, "metadata", "ownerReferences");
  return owners != nullptr && owners->is_array() ? owners->get_array() : none;
}

const ResourceInfo* info_of(const Backend& backend, const Json& object) {
  return backend.table.find_kind(text_at(object, "apiVersion"), text_at(object, "kind"));
}

}  // namespace

Housekeeping::Housekeeping(Backend& backend)
    : backend_(backend),
      listener_(
          backend.store.add_listener([this](const std::string& storage, const Change& change) {
            on_change(storage, change);
          })) {}

Housekeeping::~Housekeeping() { backend_.store.remove_listener(listener_); }

void Housekeeping::make_namespaces() {
  for (auto name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    kube::Request request = kube::create(
        resource::namespaces, "",
        JsonObject{
            {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", JsonObject{{"name", name}}}});
    (void)handle(backend_, request, Caller{"system:apiserver", {}, "lockstep-apiserver"});
  }
}

void Housekeeping::on_change(const std::string& storage, const Change& change) {
  const Store::Place place{storage, change.object->key()};
  if (change.type == kube::WatchEventType::deleted) {
    follow_removal(place, change.object->json());
  } else {
    follow_write(place, change);
  }
  using Follow = void (Housekeeping::*)(const ObjectKey&, const Change&);
  static const std::map<std::string_view, Follow> follows = {
      {"namespaces", &Housekeeping::follow_namespace},
      {"pods", &Housekeeping::follow_pod},
      {"poddisruptionbudgets.policy", &Housekeeping::follow_budget},
      {"customresourcedefinitions.apiextensions.k8s.io", &Housekeeping::follow_definition}};
  if (auto follow = follows.find(storage); follow != follows.end()) {
    (this->*follow->second)(place.key, change);
  }
  schedule();
}

void Housekeeping::follow_removal(const Store::Place& place, const Json& object) {
  std::string uid(object_uid(object));
  if (!backend_.store.dependents(uid).empty()) gone_owners_.insert(uid);
  if (!place.key.ns.empty()) {
    StoredPtr ns = backend_.store.shelf("namespaces").find(ObjectKey{"", place.key.ns});
    if (ns && is_terminating(ns->json())) terminating_namespaces_.insert(place.key.ns);
  }
  for (const Json& owner : owners_of(object)) {
    auto found = backend_.store.find_uid(text_at(owner, "uid"));
    if (!found) continue;
    StoredPtr stored = backend_.store.shelf(found->storage).find(found->key);
    if (stored && has_finalizer(stored->json(), "foregroundDeletion")) foreground_.insert(*found);
  }
}

void Housekeeping::follow_write(const Store::Place& place, const Change& change) {
  const Json& object = change.object->json();
  if (change.type == kube::WatchEventType::added && !owners_of(object).empty())
    new_dependents_.insert(place);
  if (!is_terminating(object)) return;
  if (has_finalizer(object, "foregroundDeletion")) foreground_.insert(place);
  if (has_finalizer(object, "orphan")) orphaning_.insert(place);
}

void Housekeeping::follow_namespace(const ObjectKey& key, const Change& change) {
  const bool removed = change.type == kube::WatchEventType::deleted;
  if (!removed && is_terminating(change.object->json())) terminating_namespaces_.insert(key.name);
}

void Housekeeping::follow_pod(const ObjectKey& key, const Change& change) {
  const Json& pod = change.object->json();
  const bool removed = change.type == kube::WatchEventType::deleted;
  if (!removed && is_terminating(pod) && backend_.options.reap_pods) {
    int64_t grace = as_integer(find(pod, "metadata", "deletionGracePeriodSeconds"));
    backend_.loop.after(seconds(grace), scope_.bind([this, key] { reap(key); }));
  }
  for (const auto& budget : budgets_for(backend_, key.ns, pod))
    stale_budgets_.insert(budget->key());
  if (!change.before) return;
  for (const auto& budget : budgets_for(backend_, key.ns, change.before->json()))
    stale_budgets_.insert(budget->key());
}

void Housekeeping::follow_budget(const ObjectKey& key, const Change& change) {
  if (change.type == kube::WatchEventType::deleted) return;
  const Json& budget = change.object->json();
  int64_t generation = as_integer(find(budget, "metadata", "generation"));
  if (as_integer(find(budget, "status", "observedGeneration")) < generation)
    stale_budgets_.insert(key);
}

void Housekeeping::follow_definition(const ObjectKey& key, const Change& change) {
  if (change.type == kube::WatchEventType::deleted) backend_.table.remove_custom(key.name);
}

void Housekeeping::schedule() {
  bool nothing = gone_owners_.empty() && new_dependents_.empty() && foreground_.empty() &&
                 orphaning_.empty() && terminating_namespaces_.empty() && stale_budgets_.empty();
  if (scheduled_ || nothing) return;
  scheduled_ = true;
  backend_.loop.post(scope_.bind([this] {
    scheduled_ = false;
    run();
  }));
}

void Housekeeping::run() {
  // Each chore may cause others: those are found in the sets by the next run.
  for (const auto& uid : std::exchange(gone_owners_, {})) collect(uid);
  for (const auto& place : std::exchange(new_dependents_, {})) check_owners(place);
  for (const auto& place : std::exchange(orphaning_, {})) orphan_dependents(place);
  for (const auto& place : std::exchange(foreground_, {})) finish_foreground(place);
  for (const auto& ns : std::exchange(terminating_namespaces_, {})) empty_namespace(ns);
  for (const auto& budget : std::exchange(stale_budgets_, {})) refresh_budget(backend_, budget);
  schedule();
}

void Housekeeping::collect(const std::string& owner_uid) {
  for (const auto& place : backend_.store.dependents(owner_uid)) {
    StoredPtr dependent = backend_.store.shelf(place.storage).find(place.key);
    if (!dependent) continue;
    const JsonArray& owners = owners_of(dependent->json());
    bool has_another = std::any_of(owners.begin(), owners.end(), [&](const Json& owner) {
      return backend_.store.find_uid(text_at(owner, "uid")).has_value();
    });
    const ResourceInfo* info = info_of(backend_, dependent->json());
    if (info == nullptr) continue;
    if (!has_another) {
      DeleteOptions options;
      options.propagation = "Background";
      (void)delete_stored(backend_, *info, dependent, options);
      continue;
    }
    Json object = dependent->json();
    JsonArray left;
    for (const Json& owner : owners) {
      if (text_at(owner, "uid") != owner_uid) left.push_back(owner);
    }
    object.as_object()["metadata"].as_object()["ownerReferences"] = std::move(left);
    rewrite(backend_, place.storage, dependent, std::move(object));
  }
}

void Housekeeping::check_owners(const Store::Place& place) {
  StoredPtr stored = backend_.store.shelf(place.storage).find(place.key);
  if (!stored) return;
  for (const Json& owner : owners_of(stored->json())) {
    std::string uid(text_at(owner, "uid"));
    if (!backend_.store.find_uid(uid)) gone_owners_.insert(uid);
  }
}

void Housekeeping::finish_foreground(const Store::Place& place) {
  StoredPtr owner = backend_.store.shelf(place.storage).find(place.key);
  if (!owner || !is_terminating(owner->json()) ||
      !has_finalizer(owner->json(), "foregroundDeletion"))
    return;
  std::string uid(object_uid(owner->json()));
  bool blocked = false;
  for (const auto& dependent_place : backend_.store.dependents(uid)) {
    StoredPtr dependent = backend_.store.shelf(dependent_place.storage).find(dependent_place.key);
    const ResourceInfo* info = dependent ? info_of(backend_, dependent->json()) : nullptr;
    if (info == nullptr) continue;
    if (!is_terminating(dependent->json())) {
      DeleteOptions options;
      options.propagation = "Foreground";
      (void)delete_stored(backend_, *info, dependent, options);
    }
    StoredPtr left = backend_.store.shelf(dependent_place.storage).find(dependent_place.key);
    if (!left) continue;
    const JsonArray& owners = owners_of(left->json());
    blocked =
        blocked || std::any_of(owners.begin(), owners.end(), [&](const Json& reference) {
          return text_at(reference, "uid") == uid && as_bool(find(reference, "blockOwnerDeletion"));
        });
  }
  if (!blocked) drop_finalizer(place, "foregroundDeletion");
}

void Housekeeping::orphan_dependents(const Store::Place& place) {
  StoredPtr owner = backend_.store.shelf(place.storage).find(place.key);
  if (!owner || !is_terminating(owner->json())) return;
  std::string_view uid = object_uid(owner->json());
  for (const auto& dependent_place : backend_.store.dependents(uid)) {
    StoredPtr dependent = backend_.store.shelf(dependent_place.storage).find(dependent_place.key);
    if (!dependent) continue;
    Json object = dependent->json();
    JsonArray left;
    for (const Json& reference : owners_of(dependent->json())) {
      if (text_at(reference, "uid") != uid) left.push_back(reference);
    }
    JsonObject& metadata = object.as_object()["metadata"].as_object();
    if (left.empty())
      erase_key(metadata, "ownerReferences");
    else
      metadata["ownerReferences"] = std::move(left);
    rewrite(backend_, dependent_place.storage, dependent, std::move(object));
  }
  drop_finalizer(place, "orphan");
}

void Housekeeping::drop_finalizer(const Store::Place& place, std::string_view finalizer) {
  StoredPtr stored = backend_.store.shelf(place.storage).find(place.key);
  if (!stored) return;
  Json object = stored->json();
  JsonObject& metadata = object.as_object()["metadata"].as_object();
  JsonArray left;
  if (const Json* finalizers = find(metadata, "finalizers");
      finalizers != nullptr && finalizers->is_array()) {
    for (const Json& held : finalizers->get_array()) {
      if (as_text(&held) != finalizer) left.push_back(held);
    }
  }
  if (left.empty())
    erase_key(metadata, "finalizers");
  else
    metadata["finalizers"] = std::move(left);
  rewrite(backend_, place.storage, stored, std::move(object));
}

// Deletes the storage's objects in the namespace; false: some still exist.
bool Housekeeping::empty_shelf(const std::string& storage, const std::string& ns) {
  std::vector<StoredPtr> content;
  auto [at, end] = backend_.store.shelf(storage).range(ns);
  for (; at != end; ++at) content.push_back(at->second);
  bool empty = true;
  for (const auto& object : content) {
    const ResourceInfo* info = info_of(backend_, object->json());
    if (info != nullptr && !is_terminating(object->json())) {
      DeleteOptions options;
      options.propagation = "Background";
      (void)delete_stored(backend_, *info, object, options);
    }
    empty = empty && !backend_.store.shelf(storage).find(object->key());
  }
  return empty;
}

void Housekeeping::empty_namespace(const std::string& ns) {
  StoredPtr stored = backend_.store.shelf("namespaces").find(ObjectKey{"", ns});
  if (!stored || !is_terminating(stored->json())) return;
  // Pods first: until they have ended they keep what they use, and what protects them.
  bool empty = empty_shelf("pods", ns);
  if (!empty) return;  // the last removal brings us back
  for (const auto& storage : backend_.store.storages()) empty = empty_shelf(storage, ns) && empty;
  if (!empty) return;
  Json object = stored->json();
  ensure_object(object.as_object(), "spec")["finalizers"] = JsonArray{};
  rewrite(backend_, "namespaces", stored, std::move(object));
}

void Housekeeping::reap(const ObjectKey& key) {
  StoredPtr pod = backend_.store.shelf("pods").find(key);
  const ResourceInfo* info = backend_.table.find(resource::pods);
  if (!pod || info == nullptr || !is_terminating(pod->json())) return;
  DeleteOptions options;
  options.grace_seconds = 0;
  (void)delete_stored(backend_, *info, pod, options);
}

}  // namespace lockstep::apiserver
