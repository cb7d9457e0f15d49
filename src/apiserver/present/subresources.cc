#include "apiserver/present/subresources.h"

namespace lockstep::apiserver {

Subresource describe_subresource(const ResourceInfo& info, std::string_view name) {
  if (name == "scale") return {"autoscaling", "v1", "Scale", {"get", "patch", "update"}};
  if (name == "eviction") return {"policy", "v1", "Eviction", {"create"}};
  if (name == "binding") return {"", "v1", "Binding", {"create"}};
  std::vector<std::string> verbs = {"get", "patch", "update"};
  if (name == "finalize") verbs = {"update"};
  return {info.type.group, info.type.version, info.type.kind, std::move(verbs)};
}

}  // namespace lockstep::apiserver
