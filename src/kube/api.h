// Talking to a Kubernetes API, whichever it is: over HTTP (HttpApi), or in this process
// (apiserver/InProcessApi). Asynchronous on one Loop: callbacks run on it, later, never inside
// call(). Decorators (faults, limits, counters) are Apis that hold an Api.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "data/json.h"
#include "objects/resource_type.h"

namespace lockstep::kube {

enum class Verb { get, list, create, update, patch, remove, remove_collection };
std::string_view to_string(Verb verb);

enum class PatchType { json, merge, strategic, apply };
// "application/merge-patch+json", …
std::string_view content_type(PatchType type);

struct Request {
  Verb verb = Verb::get;
  ResourceType type;
  std::string ns;           // empty: cluster-scoped, or a list over all namespaces
  std::string name;         // empty for list, create, remove_collection
  std::string subresource;  // "status", "eviction", …
  // labelSelector, limit, dryRun, fieldManager, … as in the URL, not encoded.
  std::vector<std::pair<std::string, std::string>> query;
  PatchType patch_type = PatchType::merge;
  Document body;  // null: none
  Duration limit = seconds(30);

  Request& with(std::string key, std::string value) {
    query.emplace_back(std::move(key), std::move(value));
    return *this;
  }
  const std::string* find_query(std::string_view key) const;
  // "patch nodes/gpu-7", "list pods.default": for messages and metrics.
  std::string describe() const;
  // "/apis/apps/v1/namespaces/a/daemonsets/b/status", without the query.
  std::string path() const;
};

// What came back: bytes from the network, one document, or the items of a list from in-process.
struct ListBody {
  std::string resource_version;
  std::string continue_token;
  int64_t remaining = 0;
  std::vector<Document> items;
};
using Body = std::variant<std::monostate, std::string, Document, ListBody>;

struct Response {
  int code = 0;  // HTTP's
  Body body;
  std::optional<Duration> retry_after;

  bool ok() const { return code >= 200 && code < 300; }
  // The body as one document: parses bytes, makes a List of a ListBody.
  Result<Document> document() const;
  // For a code that is not 2xx: the Status object as an Error (kind from code and reason).
  Error error() const;
};

// An error means that no answer came: nothing is known about what happened. An answer of any HTTP
// code is a Response.
using Reply = Result<Response>;
using ReplyCallback = std::function<void(Reply)>;

// Turns "an answer that is an error" into an Error too.
Result<Document> document_of(Reply reply);

enum class WatchEventType { added, modified, deleted, bookmark, error };
std::string_view to_string(WatchEventType type);

struct WatchEvent {
  WatchEventType type = WatchEventType::added;
  Body object;  // bytes or a document
};

struct WatchRequest {
  ResourceType type;
  std::string ns;
  std::string resource_version;
  std::vector<std::pair<std::string, std::string>> query;  // selectors, sendInitialEvents, …
  bool bookmarks = true;
  Duration limit = minutes(5);  // asked of the server as timeoutSeconds
  // Ends the watch when nothing at all came for this long; zero: never.
  Duration silence_limit{0};

  // As a list's path and query with watch=true.
  Request as_request() const;
};

struct WatchHandler {
  std::function<void(WatchEvent)> on_event;
  // Once, last: a clean end (the server's time-out) has kind timed_out; 410 has kind expired.
  std::function<void(Error)> on_end;
};

// Destroying it ends the watch: no callback runs after that.
class Watch {
 public:
  virtual ~Watch() = default;
};

class Api {
 public:
  virtual ~Api() = default;
  virtual void call(Request request, ReplyCallback done) = 0;
  [[nodiscard]] virtual std::unique_ptr<Watch> watch(WatchRequest request,
                                                     WatchHandler handler) = 0;
};

// Shorthands.
Request get(const ResourceType& type, const ObjectKey& key);
Request list(const ResourceType& type, std::string ns = {});
Request create(const ResourceType& type, std::string ns, Json object);
Request update(const ResourceType& type, const ObjectKey& key, Json object);
Request patch(const ResourceType& type, const ObjectKey& key, PatchType patch_type, Json patch);
Request remove(const ResourceType& type, const ObjectKey& key, Json options = nullptr);

}  // namespace lockstep::kube
