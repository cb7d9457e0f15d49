// What the subresources take and answer, for discovery and OpenAPI.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/schema/resources.h"

namespace lockstep::apiserver {

struct Subresource {
  std::string group;  // of the kind
  std::string version;
  std::string kind;
  std::vector<std::string> verbs;
};

Subresource describe_subresource(const ResourceInfo& info, std::string_view name);

}  // namespace lockstep::apiserver
