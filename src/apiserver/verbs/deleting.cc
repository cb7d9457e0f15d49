#include "apiserver/verbs/deleting.h"

#include <algorithm>

#include "apiserver/kinds/kind.h"
#include "apiserver/verbs/admission.h"
#include "apiserver/verbs/reading.h"
#include "apiserver/verbs/writing.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

Outcome<void> check_delete_preconditions(const ResourceInfo& info, const Stored& live,
                                         const DeleteOptions& options) {
  std::string_view uid = object_uid(live.json());
  if (!options.uid.empty() && options.uid != uid) {
    return Refusal(
        conflict(info.type, live.key().name,
                 fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}",
                             options.uid, uid)));
  }
  std::string_view version = text_at(live.json(), "metadata", "resourceVersion");
  if (!options.resource_version.empty() && options.resource_version != version) {
    return Refusal(conflict(
        info.type, live.key().name,
        fmt::format("Precondition failed: ResourceVersion in precondition: {}, ResourceVersion in "
                    "object meta: {}",
                    options.resource_version, version)));
  }
  return {};
}

void set_finalizer(Json& object, std::string_view name, bool wanted) {
  JsonObject& metadata = ensure_object(object.as_object(), "metadata");
  JsonArray finalizers;
  if (const Json* present = find(metadata, "finalizers");
      present != nullptr && present->is_array()) {
    for (const Json& finalizer : present->get_array()) {
      if (as_text(&finalizer) != name) finalizers.push_back(finalizer);
    }
  }
  if (wanted) finalizers.push_back(Json(name));
  if (finalizers.empty())
    erase_key(metadata, "finalizers");
  else
    metadata["finalizers"] = std::move(finalizers);
}

// The finalizers by which housekeeping knows what to do with dependents.
void set_propagation(Json& object, const std::string& propagation) {
  if (propagation == "Foreground") {
    set_finalizer(object, "foregroundDeletion", true);
    set_finalizer(object, "orphan", false);
  } else if (propagation == "Orphan") {
    set_finalizer(object, "orphan", true);
    set_finalizer(object, "foregroundDeletion", false);
  } else if (propagation == "Background") {
    set_finalizer(object, "orphan", false);
    set_finalizer(object, "foregroundDeletion", false);
  }
}

// Nothing to wait for, whatever would be marked first.
bool ends_at_once(const Kind& kind, const Json& object, const DeleteOptions& options,
                  int64_t grace) {
  if (kind.mark_deleted != nullptr || grace > 0) return false;
  if (options.propagation == "Foreground" || options.propagation == "Orphan") return false;
  const Json* finalizers = find(object, "metadata", "finalizers");
  return finalizers == nullptr || !finalizers->is_array() || finalizers->get_array().empty();
}

// Marks the beginning of the end; a second delete can only shorten the grace period.
void mark_deleted(Json& object, int64_t grace, Time now) {
  JsonObject& metadata = ensure_object(object.as_object(), "metadata");
  bool already = metadata.contains("deletionTimestamp");
  if (already && as_integer(find(metadata, "deletionGracePeriodSeconds")) <= grace) return;
  metadata["deletionTimestamp"] = format_rfc3339(now + seconds(grace));
  metadata["deletionGracePeriodSeconds"] = grace;
  if (!already && metadata.contains("generation")) {
    metadata["generation"] = as_integer(find(metadata, "generation")) + 1;
  }
}

}  // namespace

Outcome<DeleteOptions> read_delete_options(const kube::Request& request) {
  DeleteOptions options;
  auto dry_run = is_dry_run(request);
  if (!dry_run) return Refusal(dry_run.error());
  options.dry_run = *dry_run;
  if (const std::string* grace = request.find_query("gracePeriodSeconds");
      grace != nullptr && !grace->empty()) {
    auto value = parse_integer(*grace);
    if (!value) return Refusal(bad_request("gracePeriodSeconds must be a whole number"));
    options.grace_seconds = *value;
  }
  if (const std::string* policy = request.find_query("propagationPolicy"))
    options.propagation = *policy;
  if (request.body && request.body->is_object()) {
    const Json& body = *request.body;
    if (const Json* grace = find(body, "gracePeriodSeconds");
        grace != nullptr && grace->is_number()) {
      options.grace_seconds = as_integer(grace);
    }
    if (auto policy = text_at(body, "propagationPolicy"); !policy.empty())
      options.propagation = policy;
    options.uid = text_at(body, "preconditions", "uid");
    options.resource_version = text_at(body, "preconditions", "resourceVersion");
    const Json* orphan = find(body, "orphanDependents");
    if (orphan != nullptr && orphan->is_bool() && options.propagation.empty()) {
      options.propagation = as_bool(orphan) ? "Orphan" : "Background";
    }
    if (const Json* dry = find(body, "dryRun");
        dry != nullptr && dry->is_array() && !dry->get_array().empty()) {
      options.dry_run = true;
    }
  } else if (request.body && !request.body->is_null()) {
    return Refusal(bad_request("DeleteOptions must be an object"));
  }
  static const std::vector<std::string> policies = {"Background", "Foreground", "Orphan"};
  if (!options.propagation.empty() &&
      std::find(policies.begin(), policies.end(), options.propagation) == policies.end()) {
    return Refusal(
        invalid(ResourceType{"meta.k8s.io", "v1", "DeleteOptions", "deleteoptions", false}, "",
                {cause_unsupported("propagationPolicy", Json(options.propagation), policies)}));
  }
  return options;
}

Outcome<StoredPtr> delete_stored(Backend& backend, const ResourceInfo& info, const StoredPtr& live,
                                 const DeleteOptions& options) {
  if (auto ok = check_delete_preconditions(info, *live, options); !ok) return Refusal(ok.error());
  const Kind& kind = kind_of(info);
  const int64_t grace = kind.grace == nullptr ? 0 : kind.grace(live->json(), options.grace_seconds);
  if (!options.dry_run && ends_at_once(kind, live->json(), options, grace)) {
    backend.store.remove(info.storage, live->key());
    return StoredPtr();
  }
  Json object = live->json();
  set_propagation(object, options.propagation);
  mark_deleted(object, grace, backend.loop.now());
  if (kind.mark_deleted != nullptr) kind.mark_deleted(object.as_object());
  if (options.dry_run)
    return std::make_shared<const Stored>(live->key(), live->version(), std::move(object));
  if (may_vanish(info.storage, object)) {
    backend.store.remove(info.storage, live->key());
    return StoredPtr();
  }
  return rewrite(backend, info.storage, live, std::move(object));
}

Outcome<Answer> delete_object(Backend& backend, const ResourceInfo& info,
                              const kube::Request& request) {
  auto options = read_delete_options(request);
  if (!options) return Refusal(options.error());
  StoredPtr live = backend.store.shelf(info.storage).find(ObjectKey{request.ns, request.name});
  if (!live) return Refusal(not_found(info.type, request.name));
  const Kind& kind = kind_of(info);
  if (kind.refuse_deletion != nullptr) {
    const std::string_view why = kind.refuse_deletion(request.name);
    if (!why.empty()) return Refusal(forbidden(info.type, request.name, std::string(why)));
  }
  auto left = delete_stored(backend, info, live, *options);
  if (!left) return Refusal(left.error());
  Answer answer;
  answer.info = &info;
  if (*left) {
    answer.body = present(info, *left);
  } else if (kind.is_answered_with_object) {
    answer.body = present(info, live);
  } else {
    answer.info = nullptr;
    answer.body = success_status(info.type, request.name, object_uid(live->json()));
  }
  return answer;
}

Outcome<Answer> delete_collection(Backend& backend, const ResourceInfo& info,
                                  const kube::Request& request) {
  auto options = read_delete_options(request);
  if (!options) return Refusal(options.error());
  auto listed = list_objects(backend, info, request);
  if (!listed) return listed;
  auto& result = std::get<ListResult>(listed->body);
  for (auto& item : result.items) {
    StoredPtr live = backend.store.shelf(info.storage).find(item->key());
    if (!live) continue;
    auto left = delete_stored(backend, info, live, *options);
    if (!left) return Refusal(left.error());
    if (*left) item = present(info, *left);
  }
  result.version = backend.store.version();
  return listed;
}

}  // namespace lockstep::apiserver
