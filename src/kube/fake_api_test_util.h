// An API server small enough to read: a versioned store with history, so that lists are paged
// snapshots, watches resume, and old versions can be compacted away or served by a replica that
// lags. What it was asked is recorded, and a test may answer in its place.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "data/patch.h"
#include "kube/api.h"
#include "world/loop.h"

namespace lockstep::kube {

inline Document share(Json value) { return std::make_shared<const Json>(std::move(value)); }

inline Response status_answer(int code, std::string_view reason, std::string_view message = "no",
                              std::optional<Duration> retry_after = std::nullopt) {
  Json status = {{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", message}};
  return Response{code, share(std::move(status)), retry_after};
}

inline Json fake_object(const ResourceType& type, const ObjectKey& key) {
  JsonObject metadata = {{"name", key.name}};
  if (!key.ns.empty()) metadata["namespace"] = key.ns;
  return {{"apiVersion", type.api_version()}, {"kind", type.kind}, {"metadata", metadata}};
}

inline WatchRequest watch_request(const ResourceType& type) {
  WatchRequest request;
  request.type = type;
  return request;
}

class FakeApi final : public Api {
 public:
  explicit FakeApi(Loop& loop) : loop_(loop) {}
  ~FakeApi() override {
    for (FakeWatch* watch : watches_) watch->api = nullptr;
  }

  // What it was asked.
  std::vector<Request> calls;
  std::vector<WatchRequest> watch_calls;
  // Answers in place of the store; nothing: the store answers.
  std::function<std::optional<Reply>(const Request&)> intercept;
  // Ends a watch before it begins; nothing: it goes on.
  std::function<std::optional<Error>(const WatchRequest&)> intercept_watch;
  // Answers as bytes, as from a network, instead of as documents.
  bool as_bytes = false;
  bool sends_bookmarks = true;
  Duration latency{0};
  // Serves lists and watches as of this version, as a replica that lags.
  std::optional<uint64_t> stale_version;
  bool knows_not_older_than = true;
  bool knows_send_initial_events = true;

  uint64_t version() const { return version_; }
  size_t open_watches() const { return watches_.size(); }
  const std::map<ObjectKey, Document>& objects(const ResourceType& type) {
    return objects_[type.full_name()];
  }
  size_t count(Verb verb) const {
    return static_cast<size_t>(std::count_if(calls.begin(), calls.end(),
                                             [&](const Request& r) { return r.verb == verb; }));
  }

  // Creates or replaces.
  Document put(const ResourceType& type, const ObjectKey& key, Json object) {
    auto& objects = objects_[type.full_name()];
    bool existed = objects.contains(key);
    JsonObject& metadata = ensure_object(object.as_object(), "metadata");
    metadata["name"] = key.name;
    if (!key.ns.empty()) metadata["namespace"] = key.ns;
    metadata["resourceVersion"] = std::to_string(++version_);
    if (!metadata.contains("uid")) metadata["uid"] = "uid-" + std::to_string(version_);
    Document document = share(std::move(object));
    objects[key] = document;
    note(type, existed ? WatchEventType::modified : WatchEventType::added, key, document);
    return document;
  }
  void erase(const ResourceType& type, const ObjectKey& key) {
    auto& objects = objects_[type.full_name()];
    auto at = objects.find(key);
    if (at == objects.end()) return;
    Json last = *at->second;
    last.as_object()["metadata"].as_object()["resourceVersion"] = std::to_string(++version_);
    objects.erase(at);
    note(type, WatchEventType::deleted, key, share(std::move(last)));
  }
  // The history before this version is gone: older watches and continue tokens expire.
  void compact() { compacted_ = version_; }
  // As after an etcd restore: the objects stay, the versions decrease.
  void restore_to(uint64_t version) {
    history_.clear();
    version_ = version;
    compacted_ = version;
    drop_watches();
  }
  void drop_watches() {
    for (FakeWatch* watch : std::vector<FakeWatch*>(watches_)) {
      watch->end({ErrorKind::unreachable, "connection reset", "fake"});
    }
  }
  // The replica has caught up.
  void catch_up() {
    stale_version.reset();
    for (FakeWatch* watch : watches_) watch->wake();
  }

  void call(Request request, ReplyCallback done) override {
    loop_.after(latency, scope_.bind([this, request = std::move(request),
                                      done = std::move(done)]() mutable {
      calls.push_back(request);
      Reply reply = answer(request);
      if (as_bytes && reply) to_bytes(reply->body);
      loop_.after(latency, [reply = std::move(reply), done = std::move(done)]() mutable {
        done(std::move(reply));
      });
    }));
  }

  [[nodiscard]] std::unique_ptr<Watch> watch(WatchRequest request, WatchHandler handler) override {
    watch_calls.push_back(request);
    auto watch = std::make_unique<FakeWatch>(*this, std::move(request), std::move(handler));
    watch->begin();
    return watch;
  }

 private:
  struct Change {
    uint64_t version;
    std::string type;
    WatchEventType event;
    ObjectKey key;
    Document object;
  };

  struct FakeWatch final : public Watch {
    FakeWatch(FakeApi& api_, WatchRequest request_, WatchHandler handler_)
        : api(&api_), request(std::move(request_)), handler(std::move(handler_)) {
      api->watches_.push_back(this);
    }
    ~FakeWatch() override {
      if (api != nullptr) std::erase(api->watches_, this);
    }

    void begin() {
      cursor = parse_unsigned(request.resource_version).value_or(0);
      std::optional<Error> refused;
      if (api->intercept_watch) refused = api->intercept_watch(request);
      bool initial = sends_initial();
      if (!refused && initial && !api->knows_send_initial_events) {
        refused = Error{ErrorKind::invalid, "sendInitialEvents is forbidden", "fake"};
      }
      if (!refused && !initial && cursor < api->compacted_) {
        refused = Error{ErrorKind::expired, "too old resource version", "fake"};
      }
      if (refused) {
        api->loop_.post(scope.bind([this, error = *refused] { end(error); }));
        return;
      }
      if (initial) queue_initial();
      api->loop_.after(request.limit, scope.bind([this] {
        end({ErrorKind::timed_out, "the watch's time is over", "fake"});
      }));
      if (request.bookmarks && api->sends_bookmarks) bookmark_later();
      wake();
    }
    bool sends_initial() const {
      return std::any_of(request.query.begin(), request.query.end(),
                         [](const auto& entry) { return entry.first == "sendInitialEvents"; });
    }
    void queue_initial() {
      cursor = api->served();
      for (const auto& [key, object] : api->snapshot(request.type.full_name(), cursor)) {
        initial_events.push_back({WatchEventType::added, object});
      }
      Json bookmark = fake_object(request.type, {});
      JsonObject& metadata = bookmark.as_object()["metadata"].as_object();
      metadata["resourceVersion"] = std::to_string(cursor);
      metadata["annotations"] = JsonObject{{"k8s.io/initial-events-end", "true"}};
      initial_events.push_back({WatchEventType::bookmark, share(std::move(bookmark))});
    }
    void bookmark_later() {
      api->loop_.after(minutes(1), scope.bind([this] {
        Json bookmark = fake_object(request.type, {});
        // A server whose history was restored reports its own version, not the requested one.
        bookmark.as_object()["metadata"].as_object()["resourceVersion"] =
            std::to_string(std::min(cursor, api->served()));
        if (caught_up()) send({WatchEventType::bookmark, share(std::move(bookmark))});
        bookmark_later();
      }));
    }
    const Change* next() const {
      for (const Change& change : api->history_) {
        if (change.version > api->served()) return nullptr;
        if (change.version > cursor && change.type == request.type.full_name()) return &change;
      }
      return nullptr;
    }
    bool caught_up() const { return initial_events.empty() && next() == nullptr; }
    void wake() {
      if (awake || ended) return;
      awake = true;
      api->loop_.after(api->latency, scope.bind([this] { deliver(); }));
    }
    void deliver() {
      awake = false;
      if (ended || api == nullptr) return;
      if (!initial_events.empty()) {
        WatchEvent event = std::move(initial_events.front());
        initial_events.pop_front();
        wake();
        return send(std::move(event));
      }
      const Change* change = next();
      if (change == nullptr) {
        // The version of a bookmark is that of the whole store.
        cursor = std::max(cursor, api->served());
        return;
      }
      cursor = change->version;
      wake();
      send({change->event, change->object});
    }
    void send(WatchEvent event) {
      if (ended) return;
      if (api->as_bytes) api->to_bytes(event.object);
      auto on_event = handler.on_event;
      on_event(std::move(event));
    }
    void end(Error error) {
      if (ended) return;
      ended = true;
      auto on_end = handler.on_end;
      on_end(std::move(error));
    }

    FakeApi* api;
    WatchRequest request;
    WatchHandler handler;
    std::deque<WatchEvent> initial_events;
    uint64_t cursor = 0;
    bool awake = false;
    bool ended = false;
    Scope scope;
  };

  uint64_t served() const { return std::min(stale_version.value_or(version_), version_); }

  void note(const ResourceType& type, WatchEventType event, const ObjectKey& key, Document object) {
    history_.push_back({version_, type.full_name(), event, key, std::move(object)});
    for (FakeWatch* watch : watches_) watch->wake();
  }

  std::map<ObjectKey, Document> snapshot(const std::string& type, uint64_t version) {
    if (version >= version_) return objects_[type];
    std::map<ObjectKey, Document> objects;
    for (const Change& change : history_) {
      if (change.version > version || change.type != type) continue;
      if (change.event == WatchEventType::deleted) {
        objects.erase(change.key);
      } else {
        objects[change.key] = change.object;
      }
    }
    return objects;
  }

  static void to_bytes(Body& body) {
    Response response{200, body, std::nullopt};
    if (std::holds_alternative<std::monostate>(body)) return;
    if (auto document = response.document()) body = print_json(**document);
  }

  Reply answer(const Request& request) {
    if (intercept) {
      if (auto reply = intercept(request)) return *reply;
    }
    auto& objects = objects_[request.type.full_name()];
    ObjectKey key{request.ns, request.name};
    switch (request.verb) {
      case Verb::list:
        return answer_list(request);
      case Verb::create:
        return answer_create(request);
      default:
        break;
    }
    auto at = objects.find(key);
    if (at == objects.end()) return status_answer(404, "NotFound");
    if (request.verb == Verb::get) return Response{200, at->second, std::nullopt};
    if (request.verb == Verb::remove) {
      erase(request.type, key);
      return status_answer(200, "");
    }
    Json object = request.verb == Verb::patch ? *at->second : *request.body;
    if (request.verb == Verb::patch) apply_merge_patch(object, *request.body);
    std::string_view wanted = text_at(*request.body, "metadata", "resourceVersion");
    if (!wanted.empty() && wanted != text_at(*at->second, "metadata", "resourceVersion")) {
      return status_answer(409, "Conflict");
    }
    return Response{200, put(request.type, key, std::move(object)), std::nullopt};
  }

  Reply answer_create(const Request& request) {
    ObjectKey key{request.ns, std::string(text_at(*request.body, "metadata", "name"))};
    if (objects_[request.type.full_name()].contains(key)) {
      return status_answer(409, "AlreadyExists");
    }
    return Response{201, put(request.type, key, *request.body), std::nullopt};
  }

  // A continue token is "version:namespace/name of the last object".
  Reply answer_list(const Request& request) {
    uint64_t version = served();
    std::optional<ObjectKey> after;
    if (const std::string* token = request.find_query("continue")) {
      size_t colon = token->find(':');
      version = parse_unsigned(token->substr(0, colon)).value_or(0);
      size_t slash = token->find('/', colon);
      after = ObjectKey{token->substr(colon + 1, slash - colon - 1), token->substr(slash + 1)};
      if (version < compacted_) return status_answer(410, "Expired");
    } else if (const std::string* wanted = request.find_query("resourceVersion")) {
      if (knows_not_older_than && parse_unsigned(*wanted).value_or(0) > version) {
        return status_answer(504, "Timeout", "Too large resource version", seconds(1));
      }
    }
    size_t limit = ~size_t{0};
    if (const std::string* text = request.find_query("limit")) limit = *parse_unsigned(*text);
    ListBody body;
    ObjectKey last;
    body.resource_version = std::to_string(version);
    for (const auto& [key, object] : snapshot(request.type.full_name(), version)) {
      if (!request.ns.empty() && key.ns != request.ns) continue;
      if (after && key <= *after) continue;
      if (body.items.size() == limit) {
        body.continue_token = std::to_string(version) + ":" + last.ns + "/" + last.name;
        break;
      }
      body.items.push_back(object);
      last = key;
    }
    return Response{200, std::move(body), std::nullopt};
  }

  Loop& loop_;
  uint64_t version_ = 100;
  uint64_t compacted_ = 0;
  std::map<std::string, std::map<ObjectKey, Document>> objects_;
  std::vector<Change> history_;
  std::vector<FakeWatch*> watches_;
  Scope scope_;
};

}  // namespace lockstep::kube
