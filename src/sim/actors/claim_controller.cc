#include "sim/actors/claim_controller.h"

#include <utility>

#include <fmt/format.h>

#include "base/digest.h"
#include "sim/actors/driver_template.h"

namespace lockstep::sim {

const ResourceType claim_templates{"resource.k8s.io", "v1", "ResourceClaimTemplate",
                                   "resourceclaimtemplates", true};

namespace {

constexpr Duration reaction = milliseconds(100);

// The same for the same pod: a create whose answer was lost is not done twice.
std::string claim_name(const GenericObject& pod, std::string_view claim) {
  Digest digest;
  digest.add(pod.meta.uid);
  digest.add(claim);
  return fmt::format("{}-{}-{}", pod.meta.name.view(), claim, digest.hex().substr(0, 5));
}

bool lists_claim(const GenericObject& pod, std::string_view claim) {
  const Json* statuses = find(*pod.document, "status", "resourceClaimStatuses");
  if (statuses == nullptr || !statuses->is_array()) return false;
  for (const Json& status : statuses->get_array()) {
    if (text_at(status, "name") == claim) return true;
  }
  return false;
}

}  // namespace

ClaimController::ClaimController(Parts parts, View& view)
    : parts_(parts),
      view_(view),
      writer_(parts),
      queue_(parts.loop, parts.random, {}, [this](const std::string& key) {
        sync(key);
        queue_.done(key);
      }) {
  view_.of(claim_templates);
  view_.pods().on_change(scope_.bind([this](const ObjectCache::Change& change) {
    const GenericObject& pod = change.object();
    if (!has_claims(pod.document->at("spec"))) return;
    queue_.add_after("pod:" + pod.meta.key().text(), reaction);
    if (change.after && !is_finished(pod)) return;
    for (const std::string& claim : claims_named_by(*pod.document))
      queue_.add_after("claim:" + pod.meta.ns.str() + "/" + claim, reaction);
  }));
  view_.of(resource::resource_claims)
      .on_change(scope_.bind([this](const ObjectCache::Change& change) {
        if (change.after) queue_.add_after("claim:" + change.after->meta.key().text(), reaction);
      }));
}

void ClaimController::sync(const std::string& key) {
  if (!view_.synced()) return queue_.add_after(key, seconds(1));
  ObjectKey name = ObjectKey::parse(std::string_view(key).substr(key.find(':') + 1));
  if (key.starts_with("pod:")) {
    if (Object pod = view_.pods().find(name)) sync_pod(*pod);
  } else if (Object claim = view_.of(resource::resource_claims).find(name)) {
    sync_claim(*claim);
  }
}

void ClaimController::sync_pod(const GenericObject& pod) {
  if (pod.meta.is_deleting() || is_finished(pod)) return;
  make_extended_claim(pod);
  const Json* claims = find(*pod.document, "spec", "resourceClaims");
  if (claims == nullptr || !claims->is_array()) return;
  for (const Json& wanted : claims->get_array()) {
    std::string_view template_name = text_at(wanted, "resourceClaimTemplateName");
    std::string name(text_at(wanted, "name"));
    if (template_name.empty() || lists_claim(pod, name)) continue;
    Object from = view_.of(claim_templates).find({pod.meta.ns, template_name});
    if (!from) {
      queue_.add_after("pod:" + pod.meta.key().text(), seconds(5));
      continue;
    }
    std::string made = claim_name(pod, name);
    JsonObject metadata{
        {"name", made},
        {"annotations", JsonObject{{"resource.kubernetes.io/pod-claim-name", name}}},
        {"ownerReferences", owned_by(resource::pods, pod)}};
    JsonObject claim{{"apiVersion", resource::resource_claims.api_version()},
                     {"kind", resource::resource_claims.kind},
                     {"metadata", std::move(metadata)},
                     {"spec", from->document->at("spec").at("spec")}};
    writer_.send(
        kube::create(resource::resource_claims, pod.meta.ns.str(), std::move(claim)),
        scope_.bind([this, key = pod.meta.key(), name, made](const Result<Document>& created) {
          if (!created && created.error().kind != ErrorKind::exists) return;
          JsonArray statuses{JsonObject{{"name", name}, {"resourceClaimName", made}}};
          // Strategic: merged by name with those of the pod's other claims.
          kube::Request request = kube::patch(
              resource::pods, key, kube::PatchType::strategic,
              JsonObject{{"status", JsonObject{{"resourceClaimStatuses", std::move(statuses)}}}});
          request.subresource = "status";
          writer_.send(std::move(request));
        }));
  }
}

// In a real cluster the scheduler makes it, with its devices, just before it binds the pod: no pod
// is on a node without it.
void ClaimController::make_extended_claim(const GenericObject& pod) {
  if (!asks_for_extended_gpu(pod.document->at("spec"))) return;
  if (find(*pod.document, "status", "extendedResourceClaimStatus") != nullptr) return;
  std::string made = claim_name(pod, "extended-resources");
  JsonObject request{{"name", "container-0-request-0"},
                     {"exactly", JsonObject{{"deviceClassName", "gpu.nvidia.com"},
                                            {"allocationMode", "ExactCount"},
                                            {"count", 1}}}};
  JsonObject claim{
      {"apiVersion", resource::resource_claims.api_version()},
      {"kind", resource::resource_claims.kind},
      {"metadata",
       JsonObject{
           {"name", made},
           {"annotations", JsonObject{{"resource.kubernetes.io/extended-resource-claim", "true"}}},
           {"ownerReferences", owned_by(resource::pods, pod)}}},
      {"spec", JsonObject{{"devices", JsonObject{{"requests", JsonArray{std::move(request)}}}}}}};
  writer_.send(
      kube::create(resource::resource_claims, pod.meta.ns.str(), std::move(claim)),
      scope_.bind([this, key = pod.meta.key(), made](const Result<Document>& created) {
        if (!created && created.error().kind != ErrorKind::exists) return;
        const Json* containers = nullptr;
        Object live = view_.pods().find(key);
        if (live) containers = find(*live->document, "spec", "containers");
        if (containers == nullptr || !containers->is_array()) return;
        JsonObject mapping{{"containerName", text_at(containers->get_array().front(), "name")},
                           {"resourceName", extended_gpu_resource},
                           {"requestName", "container-0-request-0"}};
        JsonObject status{{"resourceClaimName", made},
                          {"requestMappings", JsonArray{std::move(mapping)}}};
        writer_.send(status_patch(resource::pods, key,
                                  JsonObject{{"extendedResourceClaimStatus", std::move(status)}}));
      }));
}

void ClaimController::sync_claim(const GenericObject& claim) {
  if (claim.meta.is_deleting()) return;
  // Made for a pod that has finished: no pod will use it again.
  if (const OwnerReference* owner = claim.meta.controller();
      owner != nullptr && owner->kind == "Pod") {
    Object pod = view_.pods().find({claim.meta.ns, owner->name});
    if (pod && pod->meta.uid == owner->uid && is_finished(*pod))
      writer_.send(remove_exactly(resource::resource_claims, claim.meta.key(), claim.meta.uid));
    return;
  }
  const Json* consumers = find(*claim.document, "status", "reservedFor");
  if (consumers == nullptr || !consumers->is_array() || consumers->get_array().empty()) return;
  JsonArray left;
  for (const Json& consumer : consumers->get_array()) {
    Object pod = view_.pods().find({claim.meta.ns, text_at(consumer, "name")});
    if (pod && pod->meta.uid == text_at(consumer, "uid") && !is_finished(*pod))
      left.push_back(consumer);
  }
  if (left.size() == consumers->get_array().size()) return;
  JsonObject status;
  // Unused, it gives its devices back.
  if (left.empty()) status["allocation"] = nullptr;
  if (left.empty()) {
    status["reservedFor"] = nullptr;
  } else {
    status["reservedFor"] = std::move(left);
  }
  writer_.send(status_patch(resource::resource_claims, claim.meta.key(), std::move(status)));
}

}  // namespace lockstep::sim
