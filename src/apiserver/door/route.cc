#include "apiserver/door/route.h"

#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

// The position of the resource in the path, after the group and version.
struct Prefix {
  std::string group;
  std::string version;
  size_t rest = 0;
};

std::optional<Prefix> read_prefix(const std::vector<std::string>& path) {
  if (path.size() >= 3 && path[0] == "api") return Prefix{"", path[1], 2};
  if (path.size() >= 4 && path[0] == "apis") return Prefix{path[1], path[2], 3};
  return std::nullopt;
}

Outcome<kube::Verb> verb_for(std::string_view method, const kube::Request& request,
                             const ResourceType& type) {
  bool one = !request.name.empty();
  if (method == "GET" || method == "HEAD") return one ? kube::Verb::get : kube::Verb::list;
  if (method == "POST" && (!one || !request.subresource.empty())) return kube::Verb::create;
  if (method == "PUT" && one) return kube::Verb::update;
  if (method == "PATCH" && one) return kube::Verb::patch;
  if (method == "DELETE") return one ? kube::Verb::remove : kube::Verb::remove_collection;
  return Refusal(method_not_allowed(type, lower(method)));
}

bool is_namespace_subresource(std::string_view segment) {
  return segment == "status" || segment == "finalize";
}

}  // namespace

Outcome<Target> parse_target(std::string_view target) {
  Target parsed;
  size_t mark = target.find('?');
  std::string_view path = target.substr(0, mark);
  for (std::string_view segment : split(path, '/')) {
    if (segment.empty()) continue;
    auto decoded = url_decode(segment, false);
    if (!decoded) return Refusal(bad_request("the URL's path has a broken % escape"));
    if (!is_valid_utf8(*decoded)) return Refusal(bad_request("the URL's path is no valid UTF-8"));
    parsed.path.push_back(std::move(*decoded));
  }
  if (mark == std::string_view::npos) return parsed;
  std::string_view query = target.substr(mark + 1);
  for (std::string_view pair : split(query, '&')) {
    if (pair.empty()) continue;
    size_t equals = pair.find('=');
    auto key = url_decode(pair.substr(0, equals), true);
    auto value = url_decode(
        equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), true);
    if (!key || !value) return Refusal(bad_request("the URL's query has a broken % escape"));
    // A field manager's name, say, ends up in an object: it must be text.
    if (!is_valid_utf8(*key) || !is_valid_utf8(*value)) {
      return Refusal(bad_request("the URL's query is no valid UTF-8"));
    }
    parsed.query.emplace_back(std::move(*key), std::move(*value));
  }
  return parsed;
}

bool is_resource_path(const std::vector<std::string>& path) {
  return read_prefix(path).has_value();
}

Outcome<Route> route_resource(const ResourceTable& table, std::string_view method,
                              const Target& target) {
  auto prefix = read_prefix(target.path);
  if (!prefix) return Refusal(path_not_found());
  std::vector<std::string> rest(target.path.begin() + static_cast<std::ptrdiff_t>(prefix->rest),
                                target.path.end());
  Route route;
  kube::Request& request = route.request;
  // namespaces/x is the namespace; namespaces/x/pods is what is in it.
  bool within = rest.size() >= 3 && rest[0] == "namespaces" &&
                !(prefix->group.empty() && rest.size() == 3 && is_namespace_subresource(rest[2]));
  if (within) {
    request.ns = rest[1];
    rest.erase(rest.begin(), rest.begin() + 2);
  }
  if (rest.empty() || rest.size() > 3) return Refusal(path_not_found());
  route.info = table.find(prefix->group, prefix->version, rest[0]);
  if (route.info == nullptr) return Refusal(path_not_found());
  request.type = route.info->type;
  if (rest.size() > 1) request.name = rest[1];
  if (rest.size() > 2) request.subresource = rest[2];
  bool misplaced = request.type.namespaced ? request.ns.empty() && !request.name.empty() : within;
  if (misplaced) return Refusal(path_not_found());
  request.query = target.query;
  auto verb = verb_for(method, request, request.type);
  if (!verb) return Refusal(verb.error());
  request.verb = *verb;
  const std::string* watch = request.find_query("watch");
  bool reads = request.verb == kube::Verb::list || request.verb == kube::Verb::get;
  route.watch = reads && watch != nullptr && (*watch == "true" || *watch == "1");
  if (route.watch && request.verb == kube::Verb::get) {
    // A watch of one object is a watch of the collection, narrowed.
    request.query.emplace_back("fieldSelector", "metadata.name=" + request.name);
    request.name.clear();
    request.verb = kube::Verb::list;
  }
  return route;
}

}  // namespace lockstep::apiserver
