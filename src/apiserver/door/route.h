// From a method and a URL to what is asked for.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/schema/resources.h"
#include "apiserver/schema/status.h"
#include "kube/api.h"

namespace lockstep::apiserver {

using Query = std::vector<std::pair<std::string, std::string>>;

struct Target {
  std::vector<std::string> path;  // decoded segments
  Query query;
};

// "/api/v1/nodes?limit=5" taken apart; 400 for a broken escape.
Outcome<Target> parse_target(std::string_view target);

struct Route {
  kube::Request request;
  const ResourceInfo* info = nullptr;
  bool watch = false;
};

// True for /api/v1/… and /apis/GROUP/VERSION/… with a resource behind it.
bool is_resource_path(const std::vector<std::string>& path);
// The request (without its body). 404 for what is not served, 405 for a method that does not fit.
Outcome<Route> route_resource(const ResourceTable& table, std::string_view method,
                              const Target& target);

}  // namespace lockstep::apiserver
