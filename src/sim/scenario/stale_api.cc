#include "sim/scenario/stale_api.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace lockstep::sim {

namespace {

ObjectKey key_of(const Json& object) {
  return {std::string(text_at(object, "metadata", "namespace")),
          std::string(text_at(object, "metadata", "name"))};
}

const Document* document_in(const kube::Body& body) { return std::get_if<Document>(&body); }

}  // namespace

class StaleApi::StaleWatch final : public kube::Watch {
 public:
  StaleWatch(StaleApi& api, std::string resource, kube::WatchHandler handler)
      : api_(&api), resource_(std::move(resource)), handler_(std::move(handler)) {
    api.watches_.push_back(this);
  }
  ~StaleWatch() override {
    if (api_ != nullptr) std::erase(api_->watches_, this);
  }

  void begin(kube::WatchRequest request) {
    kube::WatchHandler handler;
    handler.on_event = scope_.bind([this](kube::WatchEvent event) {
      if (api_ == nullptr) return;
      bool holds = api_->count_event(resource_, event) || !held_.empty();
      if (holds) return hold({std::move(event), {}});
      pass(std::move(event));
    });
    handler.on_end = scope_.bind([this](Error error) {
      if (api_ == nullptr) return;
      if (api_->frozen(resource_) || !held_.empty()) return hold({{}, std::move(error)});
      auto on_end = handler_.on_end;
      on_end(std::move(error));
    });
    inner_ = api_->inner_.watch(std::move(request), std::move(handler));
  }

  const std::string& resource() const { return resource_; }
  void thaw() { deliver_later(); }
  void detach() {
    api_ = nullptr;
    inner_.reset();
  }

 private:
  struct Held {
    std::optional<kube::WatchEvent> event;
    std::optional<Error> end;
  };

  void hold(Held held) {
    held_.push_back(std::move(held));
    if (!api_->frozen(resource_)) deliver_later();
  }

  // One at a time, so that anything may happen between two of them.
  void deliver_later() {
    if (delivering_ || held_.empty()) return;
    delivering_ = true;
    api_->loop_.post(scope_.bind([this] { deliver(); }));
  }

  void deliver() {
    delivering_ = false;
    if (api_ == nullptr || held_.empty() || api_->frozen(resource_)) return;
    Held next = std::move(held_.front());
    held_.pop_front();
    deliver_later();
    if (next.event) return pass(std::move(*next.event));
    auto on_end = handler_.on_end;
    on_end(std::move(*next.end));
  }

  void pass(kube::WatchEvent event) {
    api_->take_event(resource_, event);
    // A copy, and last: the handler may destroy the watch.
    auto on_event = handler_.on_event;
    on_event(std::move(event));
  }

  StaleApi* api_;
  std::string resource_;
  kube::WatchHandler handler_;
  std::unique_ptr<kube::Watch> inner_;
  std::deque<Held> held_;
  bool delivering_ = false;
  Scope scope_;
};

StaleApi::StaleApi(kube::Api& inner, Loop& loop, std::vector<Freeze> freezes, OnFreeze on_freeze)
    : inner_(inner), loop_(loop), freezes_(std::move(freezes)), on_freeze_(std::move(on_freeze)) {}

StaleApi::~StaleApi() {
  for (StaleWatch* watch : watches_) watch->detach();
}

void StaleApi::count_afresh() {
  counting_ = true;
  events_.clear();
}

bool StaleApi::is_planned(const std::string& resource) const {
  return std::any_of(freezes_.begin(), freezes_.end(),
                     [&](const Freeze& freeze) { return freeze.resource == resource; });
}

bool StaleApi::frozen(const std::string& resource) const {
  auto at = replicas_.find(resource);
  return at != replicas_.end() && at->second.frozen_until > loop_.uptime();
}

void StaleApi::call(kube::Request request, kube::ReplyCallback done) {
  std::string resource = request.type.full_name();
  // A list with a selector is answered from the newest state: no watch begins from there.
  bool is_whole = request.find_query("fieldSelector") == nullptr &&
                  request.find_query("labelSelector") == nullptr;
  if (request.verb != kube::Verb::list || !is_whole || !is_planned(resource)) {
    return inner_.call(std::move(request), std::move(done));
  }
  if (frozen(resource)) {
    return loop_.post(scope_.bind([this, request = std::move(request), done = std::move(done)] {
      done(stale_list(request));
    }));
  }
  auto take = [this, resource, done = std::move(done)](kube::Reply reply) {
    if (reply && reply->ok()) {
      if (const auto* body = std::get_if<kube::ListBody>(&reply->body)) take_list(resource, *body);
    }
    done(std::move(reply));
  };
  inner_.call(std::move(request), scope_.bind(std::move(take)));
}

std::unique_ptr<kube::Watch> StaleApi::watch(kube::WatchRequest request,
                                             kube::WatchHandler handler) {
  auto watch = std::make_unique<StaleWatch>(*this, request.type.full_name(), std::move(handler));
  watch->begin(std::move(request));
  return watch;
}

void StaleApi::take_list(const std::string& resource, const kube::ListBody& body) {
  Replica& replica = replicas_[resource];
  if (replica.listed_version.empty()) replica.listed_version = body.resource_version;
  for (const Document& item : body.items) replica.listed[key_of(*item)] = item;
  if (!body.continue_token.empty()) return;
  replica.objects = std::exchange(replica.listed, {});
  replica.version = std::exchange(replica.listed_version, {});
}

void StaleApi::take_event(const std::string& resource, const kube::WatchEvent& event) {
  const Document* object = document_in(event.object);
  if (object == nullptr || event.type == kube::WatchEventType::error || !is_planned(resource)) {
    return;
  }
  Replica& replica = replicas_[resource];
  replica.version = std::string(text_at(**object, "metadata", "resourceVersion"));
  if (event.type == kube::WatchEventType::deleted) {
    replica.objects.erase(key_of(**object));
  } else if (event.type != kube::WatchEventType::bookmark) {
    replica.objects[key_of(**object)] = *object;
  }
}

bool StaleApi::count_event(const std::string& resource, const kube::WatchEvent& event) {
  if (frozen(resource)) return true;
  bool counts = event.type != kube::WatchEventType::bookmark &&
                event.type != kube::WatchEventType::error && counting_;
  if (!counts) return false;
  uint64_t number = ++events_[resource];
  auto freeze = std::find_if(freezes_.begin(), freezes_.end(), [&](const Freeze& each) {
    return each.resource == resource && each.from_event == number;
  });
  if (freeze == freezes_.end()) return false;
  replicas_[resource].frozen_until = loop_.uptime() + freeze->length;
  loop_.after(freeze->length, scope_.bind([this, resource] {
    for (StaleWatch* watch : watches_) {
      if (watch->resource() == resource) watch->thaw();
    }
  }));
  // Not from inside an event: the callback may destroy the watch.
  if (on_freeze_) loop_.post(scope_.bind([this, told = *freeze] { on_freeze_(told); }));
  return true;
}

kube::Response StaleApi::stale_list(const kube::Request& request) {
  const Replica& replica = replicas_[request.type.full_name()];
  kube::ListBody body;
  body.resource_version = replica.version;
  for (const auto& [key, object] : replica.objects) {
    if (request.ns.empty() || key.ns == request.ns) body.items.push_back(object);
  }
  return kube::Response{200, std::move(body), std::nullopt};
}

}  // namespace lockstep::sim
