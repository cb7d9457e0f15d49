#include "apiserver/verbs/admission.h"

#include <algorithm>
#include <map>
#include <regex>

#include "apiserver/kinds/builtin_defaults.h"
#include "apiserver/kinds/builtin_rules.h"
#include "apiserver/kinds/kind.h"
#include "apiserver/verbs/writing.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

void set_text(JsonObject& object, std::string_view key, std::string_view text) {
  const Json* held = object.if_contains(key);
  if (held == nullptr || !held->is_string() || as_text(held) != text) object[key] = text;
}

void copy_field(const JsonObject& from, JsonObject& to, std::string_view key) {
  const Json* value = find(from, key);
  if (value == nullptr) {
    erase_key(to, key);
  } else if (value->is_string()) {
    set_text(to, key, as_text(value));
  } else {
    to[key] = *value;
  }
}

const JsonObject& metadata_of(const Json& object) {
  return object.as_object().at("metadata").as_object();
}

bool equal_without(const JsonObject& a, const JsonObject& b, std::string_view without_first,
                   std::string_view without_second, const TouchedFields& touched = {}) {
  auto counts = [&](std::string_view key) {
    return key != without_first && key != without_second && touched.contains(key);
  };
  bool covered = std::all_of(a.begin(), a.end(), [&](const auto& field) {
    if (!counts(field.key())) return true;
    const Json* other = find(b, field.key());
    return other != nullptr && json_equal(field.value(), *other);
  });
  return covered && std::all_of(b.begin(), b.end(), [&](const auto& field) {
           return !counts(field.key()) || find(a, field.key()) != nullptr;
         });
}

// As Go's %+v writes a value that it knows nothing about.
std::string go_value(const Json& value) {
  if (value.is_string()) return std::string(as_text(&value));
  if (value.is_null()) return "<nil>";
  std::string text;
  if (value.is_object()) {
    std::map<std::string_view, const Json*> sorted;
    for (const auto& [key, field] : value.get_object()) {
      sorted[std::string_view(key.data(), key.size())] = &field;
    }
    for (const auto& [key, field] : sorted) {
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ", key, go_value(*field));
    }
    return "map[" + text + "]";
  }
  if (!value.is_array()) return print_json(value);
  for (const Json& item : value.get_array()) text += (text.empty() ? "" : " ") + go_value(item);
  return "[" + text + "]";
}

bool is_plain_patch(const kube::Request& request) {
  return request.verb == kube::Verb::patch && request.patch_type != kube::PatchType::apply;
}

// After a strategic patch the real server does not read JSON but converts values, and complains
// more shortly.
std::string as_converter_says(const std::string& why) {
  static const std::regex decoder(
      R"(json: cannot unmarshal (\w+)(?: \S+)? into Go (?:struct field|value).* of type (.+))");
  std::smatch found;
  if (!std::regex_match(why, found, decoder)) return why;
  static const std::map<std::string, std::string> kinds = {{"object", "map"}, {"array", "slice"}};
  static const std::map<std::string, std::string> types = {
      {"number", "int64"}, {"object", "map[string]interface {}"}, {"array", "[]interface {}"}};
  auto word = [](const auto& words, const std::string& value) {
    auto at = words.find(value);
    return at == words.end() ? value : at->second;
  };
  const std::string from = found[1].str();
  const std::string type = found[2].str();
  const std::string kind = from == "number" ? "int64" : word(kinds, from);
  if (type.starts_with("[]")) return fmt::format("cannot restore slice from {}", kind);
  if (type.starts_with("map[")) return fmt::format("cannot restore map from {}", kind);
  if (type.find('.') != std::string::npos) {
    return fmt::format("cannot restore struct from: {}", kind);
  }
  return fmt::format("cannot convert {} to {}", word(types, from), type);
}

// What could not be read: the body of a create or update (400), or an object after a patch (422).
StatusError unreadable(const ResourceInfo& info, const Json& object, const kube::Request& request,
                       const std::string& why) {
  if (!is_plain_patch(request)) {
    return bad_request(fmt::format("{} in version \"{}\" cannot be handled as a {}: {}",
                                   info.type.kind, info.type.version, info.type.kind, why));
  }
  const bool strategic = request.patch_type == kube::PatchType::strategic;
  StatusError error;
  error.code = 422;
  error.reason = "Invalid";
  error.causes = {cause_invalid("patch",
                                Json(strategic ? go_value(*request.body) : print_json(object)),
                                strategic ? as_converter_says(why) : why)};
  error.message = fmt::format(" \"\" is invalid: patch: {}", error.causes[0].message);
  return error;
}

}  // namespace

Outcome<void> check_header(const ResourceInfo& info, Json& object, const kube::Request& request) {
  if (!object.is_object()) return Refusal(bad_request("the body must be an object"));
  JsonObject& fields = object.get_object();
  std::string wanted_version = info.type.api_version();
  std::string_view version = text_at(object, "apiVersion");
  std::string_view kind = text_at(object, "kind");
  if (!version.empty() && version != wanted_version) {
    return Refusal(bad_request(
        fmt::format("the API version in the data ({}) does not match the expected API version ({})",
                    version, wanted_version)));
  }
  if (!kind.empty() && kind != info.type.kind) {
    return Refusal(bad_request(fmt::format(
        "the kind in the data ({}) does not match the expected kind ({})", kind, info.type.kind)));
  }
  if (const Json* metadata = find(fields, "metadata");
      metadata != nullptr && !metadata->is_object() && !metadata->is_null()) {
    return Refusal(bad_request("metadata must be an object"));
  }
  std::string name(object_name(object));
  if (!request.name.empty() && !name.empty() && name != request.name) {
    return Refusal(bad_request(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})", name,
                    request.name)));
  }
  std::string ns(text_at(object, "metadata", "namespace"));
  if (info.type.namespaced && !ns.empty() && ns != request.ns) {
    return Refusal(bad_request(
        "the namespace of the provided object does not match the namespace sent on the request"));
  }
  set_text(fields, "apiVersion", wanted_version);
  set_text(fields, "kind", info.type.kind);
  JsonObject& metadata = ensure_object(fields, "metadata");
  if (!request.name.empty()) set_text(metadata, "name", request.name);
  if (info.type.namespaced)
    set_text(metadata, "namespace", request.ns);
  else
    erase_key(metadata, "namespace");
  return {};
}

Outcome<void> check_fields(const ResourceInfo& info, Json& object, const kube::Request& request,
                           std::vector<std::string>& warnings, const TouchedFields& touched) {
  if (info.schema == nullptr) return {};
  std::string mode = "Warn";
  if (const std::string* asked = request.find_query("fieldValidation");
      asked != nullptr && !asked->empty()) {
    mode = *asked;
  }
  if (mode != "Strict" && mode != "Warn" && mode != "Ignore") {
    return Refusal(
        invalid(ResourceType{"meta.k8s.io", "v1", "CreateOptions", "createoptions", false}, "",
                {cause_unsupported("fieldValidation", Json(mode), {"Ignore", "Strict", "Warn"})}));
  }
  FieldReview review{{}, false};
  if (mode != "Ignore") review = review_fields(*info.schema, object, touched);
  const std::vector<std::string>& unknown = review.unknown;
  if (!unknown.empty()) {
    std::vector<std::string> messages;
    for (const auto& path : unknown) messages.push_back(fmt::format("unknown field \"{}\"", path));
    if (mode == "Strict") {
      std::string all = join(messages, ", ");
      return Refusal(unreadable(info, object, request, "strict decoding error: " + all));
    }
    for (auto& message : messages) warnings.push_back(std::move(message));
  }
  if (!info.custom) {
    // A typed server cannot even read a value of the wrong type.
    if (auto error = decode_error(*info.schema, object, touched)) {
      return Refusal(unreadable(info, object, request, *error));
    }
  }
  if (!review.is_pruned) prune(*info.schema, object, touched);
  return {};
}

Outcome<void> check_preconditions(const ResourceInfo& info, const Json& live, const Json& object,
                                  const std::string& name) {
  std::string_view version = text_at(object, "metadata", "resourceVersion");
  if (!version.empty() && version != text_at(live, "metadata", "resourceVersion")) {
    return Refusal(conflict(
        info.type, name,
        "the object has been modified; please apply your changes to the latest version and try "
        "again"));
  }
  std::string_view uid = object_uid(object);
  if (!uid.empty() && uid != object_uid(live)) {
    return Refusal(
        conflict(info.type, name,
                 fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}",
                             uid, object_uid(live))));
  }
  return {};
}

void prepare_create(Backend& backend, const ResourceInfo& info, const ObjectKey& key,
                    Json& object) {
  JsonObject& fields = object.as_object();
  JsonObject& metadata = ensure_object(fields, "metadata");
  metadata["name"] = key.name;
  metadata["uid"] = backend.random.uuid();
  metadata["creationTimestamp"] = format_rfc3339(backend.loop.now());
  for (auto key_of_server :
       {"resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}) {
    erase_key(metadata, key_of_server);
  }
  if (!backend.options.managed_fields) erase_key(metadata, "managedFields");
  const Kind& kind = kind_of(info);
  if (kind.counts_generations)
    metadata["generation"] = 1;
  else
    erase_key(metadata, "generation");
  if (info.has("status") && !kind.keeps_status_on_create) erase_key(fields, "status");
  // New fields may move the old ones: `metadata` is not used after this.
  if (kind.begin != nullptr) kind.begin(fields);
}

void prepare_update(const ResourceInfo& info, const std::string& subresource, const Json& live,
                    Json& object, const TouchedFields& touched) {
  const Kind& kind = kind_of(info);
  JsonObject& fields = object.as_object();
  const JsonObject& before = live.as_object();
  if (subresource == "status") {
    // Most writes of a status name at most the uid that they mean.
    if (touched.only_status() && json_equal(fields["metadata"], before.at("metadata"))) {
      if (const Json* status = find(fields, "status"); status != nullptr && status->is_null())
        erase_key(fields, "status");
      return;
    }
    Json metadata = std::move(fields["metadata"]);
    if (touched.only_status()) {
      fields["metadata"] = before.at("metadata");
    } else {
      Json status = find(fields, "status") != nullptr ? std::move(fields["status"]) : Json();
      fields = before;
      fields["status"] = std::move(status);
    }
    if (const Json* status = find(fields, "status"); status != nullptr && status->is_null())
      erase_key(fields, "status");
    JsonObject& kept = fields["metadata"].as_object();
    if (kind.status_change_keeps_labels) {
      copy_field(metadata.as_object(), kept, "labels");
      copy_field(metadata.as_object(), kept, "annotations");
    }
    copy_field(metadata.as_object(), kept, "managedFields");
    return;
  }
  if (info.has("status") && touched.contains("status")) copy_field(before, fields, "status");
  JsonObject& metadata = ensure_object(fields, "metadata");
  const JsonObject& old = metadata_of(live);
  for (auto key : {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
                   "deletionGracePeriodSeconds", "generation", "generateName", "resourceVersion"}) {
    copy_field(old, metadata, key);
  }
  if (!metadata.contains("managedFields")) copy_field(old, metadata, "managedFields");
  if (!kind.server_field.empty()) copy_field(before, fields, kind.server_field);
}

void bump_generation(const ResourceInfo& info, const Json& live, Json& object,
                     const TouchedFields& touched) {
  if (!kind_of(info).counts_generations) return;
  bool status_apart = !info.custom || info.has("status");
  if (equal_without(live.as_object(), object.as_object(), "metadata",
                    status_apart ? "status" : "metadata", touched))
    return;
  JsonObject& metadata = object.as_object()["metadata"].as_object();
  metadata["generation"] = as_integer(find(live, "metadata", "generation")) + 1;
}

Outcome<void> admit(Backend& backend, const ResourceInfo& info, Json& object, const Json* before,
                    const TouchedFields& touched) {
  const Kind& kind = kind_of(info);
  // Most writes are of a pod's status.
  const bool needs_status_only =
      before != nullptr && kind.default_status != nullptr && !touched.contains("spec");
  // Or of metadata: what is wanted is as it was stored, with its defaults, and was right then.
  const bool is_spec_known = before != nullptr && touched.only_status();
  if (info.custom) {
    if (info.schema != nullptr) apply_defaults(*info.schema, object);
  } else if (needs_status_only) {
    kind.default_status(object.as_object());
  } else if (!is_spec_known || (touched.contains("status") && kind.has_status_defaults)) {
    default_builtin(info, object);
    if (before == nullptr && kind.complete != nullptr) kind.complete(object);
  }
  std::vector<StatusCause> causes;
  if (needs_status_only || is_spec_known) {
    check_metadata(info, object, before, causes);
  } else {
    causes = validate_builtin(info, object, before);
  }
  if (info.custom && info.schema != nullptr) {
    for (auto& cause : validate(*info.schema, object)) causes.push_back(std::move(cause));
  }
  if (kind.prepare != nullptr) {
    for (auto& cause : kind.prepare(object, backend.schemas)) causes.push_back(std::move(cause));
  }
  if (before != nullptr && is_terminating(*before)) {
    const Json* old_finalizers = find(*before, "metadata", "finalizers");
    const Json* finalizers = find(object, "metadata", "finalizers");
    if (finalizers != nullptr && finalizers->is_array()) {
      for (const Json& finalizer : finalizers->get_array()) {
        bool known =
            old_finalizers != nullptr && old_finalizers->is_array() &&
            std::find(old_finalizers->get_array().begin(), old_finalizers->get_array().end(),
                      finalizer) != old_finalizers->get_array().end();
        if (!known) {
          causes.push_back(cause_forbidden(
              "metadata.finalizers",
              fmt::format("no new finalizers can be added if the object is being deleted, "
                          "found new finalizers []string{{{}}}",
                          print_json(finalizer))));
        }
      }
    }
  }
  if (causes.empty()) return {};
  return Refusal(invalid(info.type, object_name(object), std::move(causes)));
}

bool same_content(const Json& a, const Json& b, const TouchedFields& touched) {
  if (!equal_without(a.as_object(), b.as_object(), "metadata", "metadata", touched)) return false;
  if (!equal_without(metadata_of(a), metadata_of(b), "resourceVersion", "managedFields"))
    return false;
  const Json* managed_before = find(a, "metadata", "managedFields");
  const Json* managed_after = find(b, "metadata", "managedFields");
  if (managed_before == nullptr || managed_after == nullptr) return managed_before == managed_after;
  return json_equal(*managed_before, *managed_after);
}

bool may_vanish(const std::string& storage, const Json& object) {
  const Json* finalizers = find(object, "metadata", "finalizers");
  if (finalizers != nullptr && finalizers->is_array() && !finalizers->get_array().empty())
    return false;
  const Kind& kind = kind_stored_as(storage);
  return kind.may_vanish == nullptr || kind.may_vanish(object);
}

StoredPtr establish_crd(Backend& backend, const StoredPtr& crd) {
  const std::string now = format_rfc3339(backend.loop.now());
  Json object = crd->json();
  if (is_terminating(object)) return crd;
  auto condition = [&](std::string_view type, std::string_view reason, std::string_view message) {
    return JsonObject{{"type", type},
                      {"status", "True"},
                      {"lastTransitionTime", now},
                      {"reason", reason},
                      {"message", message}};
  };
  JsonObject& status = ensure_object(object.as_object(), "status");
  if (find(status, "conditions") == nullptr) {
    status["conditions"] = JsonArray{
        condition("NamesAccepted", "NoConflicts", "no conflicts found"),
        condition("Established", "InitialNamesAccepted", "the initial names have been accepted")};
  }
  status["acceptedNames"] = object.as_object()["spec"].as_object()["names"];
  JsonArray stored_versions;
  if (const Json* versions = find(object, "spec", "versions");
      versions != nullptr && versions->is_array()) {
    for (const Json& version : versions->get_array()) {
      if (as_bool(find(version, "storage")))
        stored_versions.push_back(Json(text_at(version, "name")));
    }
  }
  status["storedVersions"] = std::move(stored_versions);
  backend.table.add_custom(object);
  return rewrite(backend, "customresourcedefinitions.apiextensions.k8s.io", crd, std::move(object));
}

}  // namespace lockstep::apiserver
