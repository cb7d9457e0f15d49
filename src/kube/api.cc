#include "kube/api.h"

#include <algorithm>

#include "base/strings.h"
#include "http/codes.h"

namespace lockstep::kube {

namespace {

// The reasons that say more than their HTTP code: 409 is both "exists" and "conflict", 500 both
// "internal" and "the store did not answer in time".
std::optional<ErrorKind> kind_of_reason(std::string_view reason) {
  if (reason == "AlreadyExists") return ErrorKind::exists;
  if (reason == "Conflict") return ErrorKind::conflict;
  if (reason == "NotFound") return ErrorKind::not_found;
  if (reason == "Unauthorized") return ErrorKind::unauthorized;
  if (reason == "Forbidden") return ErrorKind::forbidden;
  if (reason == "Expired" || reason == "Gone") return ErrorKind::expired;
  if (reason == "TooManyRequests") return ErrorKind::throttled;
  if (reason == "Invalid" || reason == "BadRequest") return ErrorKind::invalid;
  if (reason == "RequestEntityTooLarge") return ErrorKind::too_large;
  if (reason == "Timeout" || reason == "ServerTimeout") return ErrorKind::timed_out;
  if (reason == "ServiceUnavailable") return ErrorKind::unreachable;
  return std::nullopt;
}

// What a proxy or a load balancer answered instead of Kubernetes: enough of it to recognise.
std::string excerpt(std::string_view body) {
  constexpr size_t enough = 200;
  std::string_view line = trim(body);
  line = trim(line.substr(0, line.find('\n')));
  if (line.size() <= enough) return std::string(line);
  return std::string(line.substr(0, enough)) + "…";
}

Document list_document(const ListBody& list) {
  JsonObject metadata;
  metadata["resourceVersion"] = list.resource_version;
  if (!list.continue_token.empty()) metadata["continue"] = list.continue_token;
  if (list.remaining > 0) metadata["remainingItemCount"] = list.remaining;
  JsonArray items;
  items.reserve(list.items.size());
  for (const Document& item : list.items) items.push_back(item ? *item : Json());
  JsonObject object;
  object["kind"] = "List";
  object["apiVersion"] = "v1";
  object["metadata"] = std::move(metadata);
  object["items"] = std::move(items);
  return std::make_shared<const Json>(std::move(object));
}

Document document_from(Json value) { return std::make_shared<const Json>(std::move(value)); }

}  // namespace

std::string_view to_string(Verb verb) {
  switch (verb) {
    case Verb::get:
      return "get";
    case Verb::list:
      return "list";
    case Verb::create:
      return "create";
    case Verb::update:
      return "update";
    case Verb::patch:
      return "patch";
    case Verb::remove:
      return "delete";
    case Verb::remove_collection:
      return "deletecollection";
  }
  return "unknown";
}

std::string_view content_type(PatchType type) {
  switch (type) {
    case PatchType::json:
      return "application/json-patch+json";
    case PatchType::merge:
      return "application/merge-patch+json";
    case PatchType::strategic:
      return "application/strategic-merge-patch+json";
    case PatchType::apply:
      return "application/apply-patch+yaml";
  }
  return "application/json";
}

std::string_view to_string(WatchEventType type) {
  switch (type) {
    case WatchEventType::added:
      return "ADDED";
    case WatchEventType::modified:
      return "MODIFIED";
    case WatchEventType::deleted:
      return "DELETED";
    case WatchEventType::bookmark:
      return "BOOKMARK";
    case WatchEventType::error:
      return "ERROR";
  }
  return "UNKNOWN";
}

const std::string* Request::find_query(std::string_view key) const {
  auto found = std::find_if(query.begin(), query.end(),
                            [key](const auto& entry) { return entry.first == key; });
  return found == query.end() ? nullptr : &found->second;
}

std::string Request::describe() const {
  std::string text(to_string(verb));
  text += " " + type.plural;
  if (!ns.empty()) text += "." + ns;
  if (!name.empty()) text += "/" + name;
  if (!subresource.empty()) text += "/" + subresource;
  return text;
}

std::string Request::path() const {
  std::string path = type.group.empty() ? "/api/" : "/apis/" + url_encode(type.group) + "/";
  path += url_encode(type.version);
  if (type.namespaced && !ns.empty()) path += "/namespaces/" + url_encode(ns);
  path += "/" + url_encode(type.plural);
  if (!name.empty()) path += "/" + url_encode(name);
  if (subresource.empty()) return path;
  // A subresource may have a path of its own ("proxy/metrics"): its slashes stay.
  for (std::string_view part : split(subresource, '/')) path += "/" + url_encode(part);
  return path;
}

Request WatchRequest::as_request() const {
  Request request;
  request.verb = Verb::list;
  request.type = type;
  request.ns = ns;
  request.query = query;
  request.limit = limit;
  request.with("watch", "true");
  if (bookmarks) request.with("allowWatchBookmarks", "true");
  if (!resource_version.empty()) request.with("resourceVersion", resource_version);
  if (limit > Duration(0)) {
    const int64_t whole = std::chrono::ceil<std::chrono::seconds>(limit).count();
    request.with("timeoutSeconds", std::to_string(whole));
  }
  return request;
}

Result<Document> Response::document() const {
  if (const auto* bytes = std::get_if<std::string>(&body)) {
    if (trim(*bytes).empty()) return document_from(nullptr);
    auto parsed = parse_json(*bytes);
    if (!parsed) return fail(parsed.error().at("the server's answer"));
    return document_from(std::move(*parsed));
  }
  if (const auto* whole = std::get_if<Document>(&body)) {
    return *whole ? *whole : document_from(nullptr);
  }
  if (const auto* list = std::get_if<ListBody>(&body)) return list_document(*list);
  return document_from(nullptr);
}

Error Response::error() const {
  Error error;
  error.kind = http::kind_of_code(code);
  const auto status = document();
  if (status && text_at(**status, "kind") == "Status") {
    const std::string_view reason = text_at(**status, "reason");
    if (auto kind = kind_of_reason(reason)) error.kind = *kind;
    error.message = text_at(**status, "message");
    if (error.message.empty()) error.message = reason;
    // What the admission of a server that has just started says of whatever it is asked.
    if (error.kind == ErrorKind::forbidden &&
        error.message.ends_with("not yet ready to handle request")) {
      error.kind = ErrorKind::unreachable;
    }
  } else if (const auto* bytes = std::get_if<std::string>(&body); bytes && !trim(*bytes).empty()) {
    error.message = fmt::format("HTTP {}: {}", code, excerpt(*bytes));
  }
  if (error.message.empty()) error.message = fmt::format("HTTP {}", code);
  return error;
}

Result<Document> document_of(Reply reply) {
  if (!reply) return fail(std::move(reply).error());
  if (!reply->ok()) return fail(reply->error());
  return reply->document();
}

Request get(const ResourceType& type, const ObjectKey& key) {
  Request request;
  request.verb = Verb::get;
  request.type = type;
  request.ns = key.ns;
  request.name = key.name;
  return request;
}

Request list(const ResourceType& type, std::string ns) {
  Request request;
  request.verb = Verb::list;
  request.type = type;
  request.ns = std::move(ns);
  return request;
}

Request create(const ResourceType& type, std::string ns, Json object) {
  Request request;
  request.verb = Verb::create;
  request.type = type;
  request.ns = std::move(ns);
  request.body = document_from(std::move(object));
  return request;
}

Request update(const ResourceType& type, const ObjectKey& key, Json object) {
  Request request = get(type, key);
  request.verb = Verb::update;
  request.body = document_from(std::move(object));
  return request;
}

Request patch(const ResourceType& type, const ObjectKey& key, PatchType patch_type, Json patch) {
  Request request = get(type, key);
  request.verb = Verb::patch;
  request.patch_type = patch_type;
  request.body = document_from(std::move(patch));
  return request;
}

Request remove(const ResourceType& type, const ObjectKey& key, Json options) {
  Request request = get(type, key);
  request.verb = Verb::remove;
  if (!options.is_null()) request.body = document_from(std::move(options));
  return request;
}

}  // namespace lockstep::kube
