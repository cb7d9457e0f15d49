#include "apiserver/scale.h"

#include "apiserver/writing.h"
#include "data/patch.h"
#include "objects/selector.h"

namespace lockstep::apiserver {

namespace {

Json scale_of(const Json& object) {
  JsonObject metadata;
  for (auto key : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const Json* value = find(object, "metadata", key)) metadata[key] = *value;
  }
  JsonObject status{{"replicas", as_integer(find(object, "status", "replicas"))}};
  if (auto selector = LabelSelector::from_json(find(object, "spec", "selector")))
    status["selector"] = selector->text();
  return JsonObject{
      {"kind", "Scale"},
      {"apiVersion", "autoscaling/v1"},
      {"metadata", std::move(metadata)},
      {"spec", JsonObject{{"replicas", as_integer(find(object, "spec", "replicas"), 1)}}},
      {"status", std::move(status)}};
}

Answer answer_with_scale(const StoredPtr& stored) {
  Answer answer;
  answer.body = scale_of(stored->json());
  return answer;
}

}  // namespace

Outcome<Answer> handle_scale(Backend& backend, const ResourceInfo& info,
                             const kube::Request& request, const Caller& caller) {
  StoredPtr live = backend.store.shelf(info.storage).find(ObjectKey{request.ns, request.name});
  if (!live) return Refusal(not_found(info.type, request.name));
  if (request.verb == kube::Verb::get) return answer_with_scale(live);
  if (request.verb != kube::Verb::update && request.verb != kube::Verb::patch) {
    return Refusal(method_not_allowed(info.type, to_string(request.verb)));
  }
  Json scale = scale_of(live->json());
  if (request.verb == kube::Verb::update) {
    scale = *request.body;
  } else if (request.patch_type == kube::PatchType::json) {
    if (auto ok = apply_json_patch(scale, *request.body); !ok)
      return Refusal(bad_request(ok.error().text()));
  } else {
    apply_merge_patch(scale, *request.body);
  }
  const Json* replicas = find(scale, "spec", "replicas");
  if (replicas == nullptr || !replicas->is_number() || as_integer(replicas) < 0) {
    return Refusal(invalid(ResourceType{"autoscaling", "v1", "Scale", "scales", true}, request.name,
                           {cause_invalid("spec.replicas", replicas == nullptr ? Json() : *replicas,
                                          "must be greater than or equal to 0")}));
  }
  JsonObject patch{{"spec", JsonObject{{"replicas", *replicas}}}};
  if (auto version = text_at(scale, "metadata", "resourceVersion");
      request.verb == kube::Verb::update && !version.empty()) {
    patch["metadata"] = JsonObject{{"resourceVersion", version}};
  }
  kube::Request inner =
      kube::patch(info.type, ObjectKey{request.ns, request.name}, kube::PatchType::merge, patch);
  inner.query = request.query;
  auto changed = patch_object(backend, info, inner, caller);
  if (!changed) return changed;
  return answer_with_scale(std::get<StoredPtr>(changed->body));
}

}  // namespace lockstep::apiserver
