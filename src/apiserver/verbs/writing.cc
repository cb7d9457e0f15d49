#include "apiserver/verbs/writing.h"

#include <algorithm>
#include <utility>

#include "apiserver/apply/apply.h"
#include "apiserver/kinds/kind.h"
#include "apiserver/verbs/admission.h"
#include "base/strings.h"
#include "data/patch.h"

namespace lockstep::apiserver {

namespace {

// A write on its way: what it is about, and what it turned up.
struct Write {
  Backend& backend;
  const ResourceInfo& info;
  const kube::Request& request;
  const Caller& caller;
  std::vector<std::string> warnings;

  FieldManager manager() const {
    FieldManager manager;
    if (const std::string* name = request.find_query("fieldManager");
        name != nullptr && !name->empty()) {
      manager.name = *name;
    } else {
      manager.name =
          caller.agent.empty() ? "unknown" : std::string(split(caller.agent, '/').front());
    }
    manager.api_version = info.type.api_version();
    manager.subresource = request.subresource;
    return manager;
  }
};

Answer answer_with(Write& write, StoredPtr stored, int code) {
  Answer answer;
  answer.code = code;
  answer.info = &write.info;
  answer.body = present(write.info, stored);
  answer.warnings = std::move(write.warnings);
  return answer;
}

Outcome<std::string> name_for_create(Write& write, const Json& object) {
  std::string name(object_name(object));
  if (!name.empty()) return name;
  std::string_view prefix = text_at(object, "metadata", "generateName");
  if (!prefix.empty()) return std::string(prefix.substr(0, 58)) + write.backend.random.suffix(5);
  return Refusal(invalid(write.info.type, "",
                         {cause_required("metadata.name", "name or generateName is required")}));
}

Outcome<void> check_namespace(Write& write) {
  if (!write.info.type.namespaced) return {};
  StoredPtr ns = write.backend.store.shelf("namespaces").find(ObjectKey{"", write.request.ns});
  if (!ns) return Refusal(not_found(resource::namespaces, write.request.ns));
  if (is_terminating(ns->json())) {
    return Refusal(forbidden(
        write.info.type, object_name(*write.request.body),
        fmt::format("unable to create new content in namespace {} because it is being terminated",
                    write.request.ns)));
  }
  return {};
}

// Keeps a new or changed object, or only shows it for a dry run.
StoredPtr keep(Write& write, const ObjectKey& key, Json object, bool dry_run) {
  if (dry_run)
    return std::make_shared<const Stored>(key, write.backend.store.version(), std::move(object));
  return write.backend.store.put(write.info.storage, key, std::move(object));
}

Outcome<Answer> store_new(Write& write, Json object, bool track) {
  auto dry_run = is_dry_run(write.request);
  if (!dry_run) return Refusal(dry_run.error());
  if (auto ok = check_namespace(write); !ok) return Refusal(ok.error());
  auto name = name_for_create(write, object);
  if (!name) return Refusal(name.error());
  ObjectKey key{write.request.ns, *name};
  JsonObject& metadata = ensure_object(object.as_object(), "metadata");
  metadata["name"] = *name;
  prepare_create(write.backend, write.info, key, object);
  if (auto ok = admit(write.backend, write.info, object, nullptr); !ok) return Refusal(ok.error());
  if (write.backend.store.shelf(write.info.storage).find(key))
    return Refusal(already_exists(write.info.type, *name));
  if (track && write.backend.options.managed_fields) {
    // The creator of an object does not own its initial status.
    Json status;
    if (Json* begun = object.as_object().if_contains("status"); begun && write.info.has("status")) {
      status = std::move(*begun);
      erase_key(object.as_object(), "status");
    }
    track_update(nullptr, object, write.manager(), write.info.schema, write.backend.loop.now());
    if (!status.is_null()) object.as_object()["status"] = std::move(status);
  }
  StoredPtr stored = keep(write, key, std::move(object), *dry_run);
  if (!*dry_run && kind_of(write.info).defines_kinds) stored = establish_crd(write.backend, stored);
  return answer_with(write, stored, 201);
}

StoredPtr put_changed(Backend& backend, const std::string& storage, const ObjectKey& key,
                      Json object) {
  if (is_terminating(object) && may_vanish(storage, object)) {
    // The last finalizer went: this write is the end of it.
    backend.store.put(storage, key, std::move(object));
    return backend.store.remove(storage, key);
  }
  return backend.store.put(storage, key, std::move(object));
}

// The common end of update and patch: `object` is what the client wants it to be.
Outcome<Answer> store_change(Write& write, const StoredPtr& live, Json object, bool track,
                             const TouchedFields& touched = {}) {
  auto dry_run = is_dry_run(write.request);
  if (!dry_run) return Refusal(dry_run.error());
  if (auto ok = check_preconditions(write.info, live->json(), object, write.request.name); !ok) {
    return Refusal(ok.error());
  }
  prepare_update(write.info, write.request.subresource, live->json(), object, touched);
  if (auto ok = admit(write.backend, write.info, object, &live->json(), touched); !ok)
    return Refusal(ok.error());
  if (same_content(live->json(), object, touched)) return answer_with(write, live, 200);
  bump_generation(write.info, live->json(), object, touched);
  if (track && write.backend.options.managed_fields) {
    track_update(&live->json(), object, write.manager(), write.info.schema,
                 write.backend.loop.now());
  }
  if (*dry_run) return answer_with(write, keep(write, live->key(), std::move(object), true), 200);
  StoredPtr stored = put_changed(write.backend, write.info.storage, live->key(), std::move(object));
  if (kind_of(write.info).defines_kinds) stored = establish_crd(write.backend, stored);
  return answer_with(write, stored, 200);
}

// The real server keeps to itself which operation of a JSON patch failed.
StatusError patch_failed() {
  StatusError error;
  error.code = 422;
  error.reason = "Invalid";
  error.message = "the server rejected our request due to an error in our request";
  return error;
}

// As Go's decoder complains.
std::string not_readable_as(const Json& value, std::string_view type) {
  const std::string_view name = value.is_bool() ? "bool" : json_type_name(value);
  return fmt::format("json: cannot unmarshal {} into Go value of type {}",
                     name == "integer" ? "number" : name, type);
}

Outcome<Json> patched(Write& write, const Json& live) {
  Json object;
  const Json& patch = *write.request.body;
  switch (write.request.patch_type) {
    case kube::PatchType::json:
      object = Json(live);
      if (!patch.is_array()) return Refusal(bad_request(not_readable_as(patch, "jsonpatch.Patch")));
      if (!apply_json_patch(object, patch)) return Refusal(patch_failed());
      break;
    case kube::PatchType::merge:
      if (!patch.is_object()) return Refusal(bad_request("Invalid JSON Patch"));
      object = Json(live);
      apply_merge_patch(object, patch);
      break;
    case kube::PatchType::strategic: {
      if (write.info.custom) {
        return Refusal(
            unsupported_media_type(content_type(kube::PatchType::strategic),
                                   {"application/json-patch+json", "application/merge-patch+json",
                                    "application/apply-patch+yaml"}));
      }
      if (!patch.is_object()) {
        return Refusal(bad_request(not_readable_as(patch, "map[string]interface {}")));
      }
      auto result = strategically_patched(live, patch, SchemaMerge(write.info.schema));
      if (!result) return Refusal(bad_request(result.error().text()));
      object = std::move(*result);
      break;
    }
    case kube::PatchType::apply:
      break;  // has its own path
  }
  if (!object.is_object()) return Refusal(bad_request("the patched object must be an object"));
  if (object.get_object().contains("metadata") && !object.get_object().at("metadata").is_object()) {
    return Refusal(bad_request("the patched object's metadata must be an object"));
  }
  return object;
}

// A custom resource is checked as a whole: its schema may have changed since it was stored.
TouchedFields touched_by(const ResourceInfo& info, const kube::Request& request, const Json& live) {
  bool names_fields = request.patch_type == kube::PatchType::merge ||
                      request.patch_type == kube::PatchType::strategic;
  if (info.custom || !names_fields || !request.body->is_object()) return {};
  return TouchedFields::by(request.body->get_object(), &live);
}

Outcome<Answer> apply_object(Write& write, const StoredPtr& live) {
  if (write.request.find_query("fieldManager") == nullptr) {
    return Refusal(invalid(ResourceType{"meta.k8s.io", "v1", "PatchOptions", "patchoptions", false},
                           "", {cause_required("fieldManager", "is required for apply patch")}));
  }
  Json applied = *write.request.body;
  if (auto ok = check_header(write.info, applied, write.request); !ok) return Refusal(ok.error());
  if (auto ok = check_fields(write.info, applied, write.request, write.warnings); !ok)
    return Refusal(ok.error());
  if (const Json* managed = find(applied, "metadata", "managedFields");
      managed != nullptr && !managed->is_null()) {
    return Refusal(bad_request("metadata.managedFields must be nil"));
  }
  // What the endpoint does not change cannot be owned through it.
  if (write.info.has("status")) {
    erase_key(applied.as_object(), write.request.subresource == "status" ? "spec" : "status");
  }
  const std::string* force = write.request.find_query("force");
  auto merged = server_side_apply(live ? &live->json() : nullptr, applied, write.manager(),
                                  force != nullptr && *force == "true", write.info.schema,
                                  write.info.type, write.backend.loop.now());
  if (!merged) return Refusal(merged.error());
  if (live) return store_change(write, live, std::move(*merged), false);
  ensure_object(merged->as_object(), "metadata")["name"] = write.request.name;
  return store_new(write, std::move(*merged), false);
}

}  // namespace

StoredPtr rewrite(Backend& backend, const std::string& storage, const StoredPtr& live,
                  Json object) {
  if (same_content(live->json(), object)) return live;
  return put_changed(backend, storage, live->key(), std::move(object));
}

Outcome<Answer> create_object(Backend& backend, const ResourceInfo& info,
                              const kube::Request& request, const Caller& caller) {
  Write write{backend, info, request, caller, {}};
  Json object(*request.body);
  if (auto ok = check_header(info, object, request); !ok) return Refusal(ok.error());
  if (auto ok = check_fields(info, object, request, write.warnings); !ok)
    return Refusal(ok.error());
  if (auto version = text_at(object, "metadata", "resourceVersion"); !version.empty()) {
    return Refusal(bad_request("resourceVersion should not be set on objects to be created"));
  }
  return store_new(write, std::move(object), true);
}

Outcome<Answer> update_object(Backend& backend, const ResourceInfo& info,
                              const kube::Request& request, const Caller& caller) {
  Write write{backend, info, request, caller, {}};
  Json object(*request.body);
  if (auto ok = check_header(info, object, request); !ok) return Refusal(ok.error());
  if (auto ok = check_fields(info, object, request, write.warnings); !ok)
    return Refusal(ok.error());
  StoredPtr live = backend.store.shelf(info.storage).find(ObjectKey{request.ns, request.name});
  if (!live) {
    bool upsert = kind_of(info).is_created_by_update && request.subresource.empty() &&
                  text_at(object, "metadata", "resourceVersion").empty();
    if (upsert) return store_new(write, std::move(object), true);
    return Refusal(not_found(info.type, request.name));
  }
  if (info.custom && text_at(object, "metadata", "resourceVersion").empty()) {
    return Refusal(
        invalid(info.type, request.name,
                {cause_invalid("metadata.resourceVersion", 0, "must be specified for an update")}));
  }
  return store_change(write, present(info, live), std::move(object), true);
}

Outcome<Answer> patch_object(Backend& backend, const ResourceInfo& info,
                             const kube::Request& request, const Caller& caller) {
  Write write{backend, info, request, caller, {}};
  StoredPtr live = backend.store.shelf(info.storage).find(ObjectKey{request.ns, request.name});
  if (live) live = present(info, live);
  if (request.patch_type == kube::PatchType::apply) return apply_object(write, live);
  if (!live) return Refusal(not_found(info.type, request.name));
  auto object = patched(write, live->json());
  if (!object) return Refusal(object.error());
  if (auto ok = check_header(info, *object, request); !ok) return Refusal(ok.error());
  TouchedFields touched = touched_by(info, request, live->json());
  if (auto ok = check_fields(info, *object, request, write.warnings, touched); !ok)
    return Refusal(ok.error());
  return store_change(write, live, std::move(*object), true, touched);
}

Outcome<Answer> bind_pod(Backend& backend, const ResourceInfo& info, const kube::Request& request) {
  StoredPtr live = backend.store.shelf(info.storage).find(ObjectKey{request.ns, request.name});
  if (!live) return Refusal(not_found(info.type, request.name));
  std::string node(text_at(*request.body, "target", "name"));
  std::string_view kind = text_at(*request.body, "target", "kind");
  ResourceType binding{"", "v1", "Binding", "bindings", true};
  if (node.empty()) return Refusal(invalid(binding, request.name, {cause_required("target.name")}));
  if (!kind.empty() && kind != "Node") {
    return Refusal(
        invalid(binding, request.name, {cause_unsupported("target.kind", Json(kind), {"Node"})}));
  }
  if (auto bound = text_at(live->json(), "spec", "nodeName"); !bound.empty()) {
    return Refusal(
        conflict(binding, request.name,
                 fmt::format("pod {} is already assigned to node \"{}\"", request.name, bound)));
  }
  if (is_terminating(live->json())) {
    return Refusal(conflict(
        binding, request.name,
        fmt::format("pod {} is being deleted, cannot be assigned to a host", request.name)));
  }
  Json object = live->json();
  ensure_object(object.as_object(), "spec")["nodeName"] = node;
  JsonObject& status = ensure_object(object.as_object(), "status");
  if (!status["conditions"].is_array()) status["conditions"] = JsonArray{};
  JsonArray& conditions = status["conditions"].as_array();
  // A scheduler that could not place the pod before has written a condition.
  auto said = std::find_if(conditions.begin(), conditions.end(),
                           [](const Json& one) { return text_at(one, "type") == "PodScheduled"; });
  if (said != conditions.end()) conditions.erase(said);
  conditions.push_back(JsonObject{{"type", "PodScheduled"},
                                  {"status", "True"},
                                  {"lastProbeTime", nullptr},
                                  {"lastTransitionTime", format_rfc3339(backend.loop.now())}});
  rewrite(backend, info.storage, live, std::move(object));
  Answer answer;
  answer.code = 201;
  answer.body = Json(JsonObject{{"kind", "Status"},
                                {"apiVersion", "v1"},
                                {"metadata", JsonObject{}},
                                {"status", "Success"},
                                {"code", 201}});
  return answer;
}

}  // namespace lockstep::apiserver
