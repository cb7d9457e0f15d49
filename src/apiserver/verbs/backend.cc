#include "apiserver/verbs/backend.h"

#include "apiserver/kinds/kind.h"
#include "apiserver/verbs/deleting.h"
#include "apiserver/verbs/disruption.h"
#include "apiserver/verbs/reading.h"
#include "apiserver/verbs/reviews.h"
#include "apiserver/verbs/scale.h"
#include "apiserver/verbs/writing.h"

namespace lockstep::apiserver {

Backend::Backend(Loop& loop_in, Random& random_in, Options options_in)
    : loop(loop_in),
      random(random_in),
      options(options_in),
      schemas(builtin_schemas()),
      table(schemas),
      store(options_in.log_limit) {}

namespace {

Outcome<Answer> create_subresource(Backend& backend, const ResourceInfo& info,
                                   const kube::Request& request) {
  if (request.subresource == "eviction") return evict_pod(backend, info, request);
  if (request.subresource == "binding") return bind_pod(backend, info, request);
  return Refusal(method_not_allowed(info.type, "create"));
}

}  // namespace

Outcome<Answer> handle(Backend& backend, const kube::Request& request, const Caller& caller) {
  const ResourceInfo* info =
      backend.table.find(request.type.group, request.type.version, request.type.plural);
  if (info == nullptr) return Refusal(path_not_found());
  if (!request.subresource.empty() && !info->has(request.subresource))
    return Refusal(path_not_found());
  Store::OnBehalfOf caller_writes(backend.store,
                                  {caller.user, to_string(request.verb), request.subresource});
  bool writes = request.verb == kube::Verb::create || request.verb == kube::Verb::update ||
                request.verb == kube::Verb::patch;
  if (writes && !request.body) return Refusal(bad_request("the request has no body"));
  if (is_review(*info)) {
    if (request.verb == kube::Verb::create) return answer_review(*info, request, caller);
    return Refusal(method_not_allowed(info->type, to_string(request.verb)));
  }
  if (request.subresource == "scale") return handle_scale(backend, *info, request, caller);
  switch (request.verb) {
    case kube::Verb::get:
      return get_object(backend, *info, request);
    case kube::Verb::list:
      return list_objects(backend, *info, request);
    case kube::Verb::create:
      if (!request.subresource.empty()) return create_subresource(backend, *info, request);
      if (info->type.namespaced && request.ns.empty()) {
        return Refusal(bad_request("an empty namespace may not be set during creation"));
      }
      return create_object(backend, *info, request, caller);
    case kube::Verb::update:
      return update_object(backend, *info, request, caller);
    case kube::Verb::patch:
      return patch_object(backend, *info, request, caller);
    case kube::Verb::remove:
      return delete_object(backend, *info, request);
    case kube::Verb::remove_collection:
      return delete_collection(backend, *info, request);
  }
  return Refusal(internal_error("unknown verb"));
}

StoredPtr present(const ResourceInfo& info, const StoredPtr& stored) {
  std::string_view written = text_at(stored->json(), "apiVersion");
  if (written == info.type.api_version()) return stored;
  Json object = stored->json();
  if (const Kind& kind = kind_of(info); kind.as_version != nullptr) {
    object = kind.as_version(object, info.type);
  }
  object.as_object()["apiVersion"] = info.type.api_version();
  return std::make_shared<const Stored>(stored->key(), stored->version(), std::move(object));
}

Outcome<bool> is_dry_run(const kube::Request& request) {
  const std::string* value = request.find_query("dryRun");
  if (value == nullptr || value->empty()) return false;
  if (*value == "All") return true;
  return Refusal(invalid(ResourceType{"meta.k8s.io", "v1", "CreateOptions", "createoptions", false},
                         "", {cause_unsupported("dryRun", Json(*value), {"All"})}));
}

std::string_view object_name(const Json& object) { return text_at(object, "metadata", "name"); }
std::string_view object_uid(const Json& object) { return text_at(object, "metadata", "uid"); }
bool is_terminating(const Json& object) {
  return !text_at(object, "metadata", "deletionTimestamp").empty();
}

}  // namespace lockstep::apiserver
