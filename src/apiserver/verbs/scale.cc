#include "apiserver/verbs/scale.h"

#include "apiserver/kinds/kind.h"
#include "apiserver/verbs/writing.h"
#include "base/strings.h"
#include "data/patch.h"
#include "objects/selector.h"

namespace lockstep::apiserver {

namespace {

// Where an object keeps its numbers.
ScalePaths paths_of(const ResourceInfo& info) {
  return info.custom ? info.scale : ScalePaths{".spec.replicas", ".status.replicas", ""};
}

// ".spec.width": the path's names. CRDs may only have such simple ones here.
std::vector<std::string_view> names_of(std::string_view path) {
  std::vector<std::string_view> names = split(path, '.');
  names.erase(names.begin());
  return names;
}

const Json* value_at(const Json& object, std::string_view path) {
  if (path.empty()) return nullptr;
  const Json* value = &object;
  for (const std::string_view name : names_of(path)) {
    value = find(*value, name);
    if (value == nullptr) return nullptr;
  }
  return value;
}

// {"spec":{"width":3}} for ".spec.width".
Json nested(std::string_view path, const Json& value) {
  Json result = value;
  std::vector<std::string_view> names = names_of(path);
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    result = JsonObject{{*name, std::move(result)}};
  }
  return result;
}

std::string selector_of(const ResourceInfo& info, const ScalePaths& paths, const Json& object) {
  if (info.custom) return std::string(as_text(value_at(object, paths.label_selector)));
  const Json* given = find(object, "spec", "selector");
  Json labels = given == nullptr ? Json() : *given;
  if (given != nullptr && kind_of(info).has_plain_selector) {
    labels = nested(".matchLabels", *given);
  }
  auto selector = LabelSelector::from_json(&labels);
  return selector ? selector->text() : std::string();
}

Json scale_of(const ResourceInfo& info, const Json& object) {
  const ScalePaths paths = paths_of(info);
  JsonObject metadata;
  for (auto key : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const Json* value = find(object, "metadata", key)) metadata[key] = *value;
  }
  JsonObject spec;
  if (const Json* wanted = value_at(object, paths.spec_replicas)) {
    spec["replicas"] = as_integer(wanted);
  }
  JsonObject status{{"replicas", as_integer(value_at(object, paths.status_replicas))}};
  if (const std::string selector = selector_of(info, paths, object); !selector.empty()) {
    status["selector"] = selector;
  }
  return JsonObject{{"kind", "Scale"},
                    {"apiVersion", "autoscaling/v1"},
                    {"metadata", std::move(metadata)},
                    {"spec", std::move(spec)},
                    {"status", std::move(status)}};
}

// The table of a Scale.
const ResourceInfo& scale_info() {
  static const ResourceInfo info = [] {
    ResourceInfo made;
    made.type = {"autoscaling", "v1", "Scale", "scales", true};
    made.custom = true;
    made.columns = {{"Desired", "integer", "", "How many are wanted.", 0, ".spec.replicas"},
                    {"Available", "integer", "", "How many there are.", 0, ".status.replicas"},
                    {"Age", "date", "", "Since when.", 0, ".metadata.creationTimestamp"}};
    return made;
  }();
  return info;
}

Answer answer_with_scale(const ResourceInfo& info, const StoredPtr& stored) {
  Answer answer;
  answer.info = &scale_info();
  answer.body = std::make_shared<const Stored>(stored->key(), stored->version(),
                                               scale_of(info, stored->json()));
  return answer;
}

}  // namespace

int64_t wanted_replicas(const ResourceInfo& info, const Json& object) {
  return as_integer(value_at(object, paths_of(info).spec_replicas));
}

Outcome<Answer> handle_scale(Backend& backend, const ResourceInfo& info,
                             const kube::Request& request, const Caller& caller) {
  StoredPtr live = backend.store.shelf(info.storage).find(ObjectKey{request.ns, request.name});
  if (!live) return Refusal(not_found(info.type, request.name));
  if (request.verb == kube::Verb::get) return answer_with_scale(info, live);
  if (request.verb != kube::Verb::update && request.verb != kube::Verb::patch) {
    return Refusal(method_not_allowed(info.type, to_string(request.verb)));
  }
  Json scale = scale_of(info, live->json());
  if (request.verb == kube::Verb::update) {
    scale = *request.body;
  } else if (request.patch_type == kube::PatchType::json) {
    if (auto ok = apply_json_patch(scale, *request.body); !ok)
      return Refusal(bad_request(ok.error().text()));
  } else {
    apply_merge_patch(scale, *request.body);
  }
  // Go leaves out a zero.
  const Json* given = find(scale, "spec", "replicas");
  const Json replicas = given == nullptr ? Json(0) : *given;
  if (!replicas.is_number() || as_integer(&replicas) < 0) {
    return Refusal(
        invalid(ResourceType{"autoscaling", "v1", "Scale", "scales", true}, request.name,
                {cause_invalid("spec.replicas", replicas, "must be greater than or equal to 0")}));
  }
  Json patch = nested(paths_of(info).spec_replicas, replicas);
  if (auto version = text_at(scale, "metadata", "resourceVersion");
      request.verb == kube::Verb::update && !version.empty()) {
    patch.as_object()["metadata"] = JsonObject{{"resourceVersion", version}};
  }
  kube::Request inner =
      kube::patch(info.type, ObjectKey{request.ns, request.name}, kube::PatchType::merge, patch);
  inner.query = request.query;
  auto changed = patch_object(backend, info, inner, caller);
  if (!changed) return changed;
  return answer_with_scale(info, std::get<StoredPtr>(changed->body));
}

}  // namespace lockstep::apiserver
