#include "apiserver/verbs/in_process_api.h"

#include <utility>

namespace lockstep::apiserver {

kube::Response response_of(Outcome<Answer> outcome) {
  kube::Response response;
  if (!outcome) {
    response.code = outcome.error().code;
    if (auto wait = outcome.error().retry_after_seconds) response.retry_after = seconds(*wait);
    response.body = std::make_shared<const Json>(outcome.error().json());
    return response;
  }
  response.code = outcome->code;
  if (auto* stored = std::get_if<StoredPtr>(&outcome->body)) {
    response.body = (*stored)->document();
  } else if (auto* list = std::get_if<ListResult>(&outcome->body)) {
    kube::ListBody body;
    body.resource_version = std::to_string(list->version);
    body.continue_token = std::move(list->continue_token);
    body.remaining = list->remaining;
    body.items.reserve(list->items.size());
    for (const auto& item : list->items) body.items.push_back(item->document());
    response.body = std::move(body);
  } else {
    response.body = std::make_shared<const Json>(std::move(std::get<Json>(outcome->body)));
  }
  return response;
}

// One watch. Events are delivered one by one from the loop, so that a simulation may interleave
// anything between two of them.
class InProcessApi::FeedWatch final : public kube::Watch {
 public:
  FeedWatch(InProcessApi& api, WatchFeed feed, kube::WatchHandler handler, Duration limit)
      : api_(api),
        number_(api.next_watch_++),
        feed_(std::move(feed)),
        handler_(std::move(handler)) {
    api_.watches_[storage()].emplace(number_, this);
    timer_ = api_.backend_.loop.after(limit, scope_.bind([this] {
      end(Error{ErrorKind::timed_out, "the watch's time is over", ""});
    }));
    wake();
  }
  ~FeedWatch() override {
    api_.backend_.loop.cancel(timer_);
    api_.watches_[storage()].erase(number_);
  }

  const std::string& storage() const { return feed_.info().storage; }

  void wake() {
    if (scheduled_ || !feed_.ready()) return;
    scheduled_ = true;
    api_.backend_.loop.post(scope_.bind([this] { deliver(); }));
  }

 private:
  void deliver() {
    scheduled_ = false;
    auto events = feed_.next(1);
    if (feed_.ready()) wake();
    if (events.empty()) return;
    FeedEvent& event = events.front();
    if (event.type == kube::WatchEventType::error) {
      kube::Response status;
      status.code = static_cast<int>(as_integer(find(event.note, "code"), 500));
      status.body = std::make_shared<const Json>(std::move(event.note));
      end(status.error());
      return;
    }
    kube::WatchEvent out;
    out.type = event.type;
    out.object = event.object ? event.object->document()
                              : std::make_shared<const Json>(std::move(event.note));
    // The handler may destroy this watch.
    auto handler = handler_.on_event;
    handler(std::move(out));
  }

  void end(Error error) {
    auto handler = std::move(handler_.on_end);
    scope_.reset();
    if (handler) handler(std::move(error));
  }

  InProcessApi& api_;
  uint64_t number_;
  WatchFeed feed_;
  kube::WatchHandler handler_;
  TimerId timer_ = 0;
  bool scheduled_ = false;
  Scope scope_;
};

namespace {

// A watch that never began.
class RefusedWatch final : public kube::Watch {
 public:
  RefusedWatch(Loop& loop, kube::WatchHandler handler, Error error) {
    loop.post(scope_.bind(
        [handler = std::move(handler), error = std::move(error)] { handler.on_end(error); }));
  }

 private:
  Scope scope_;
};

}  // namespace

InProcessApi::InProcessApi(Backend& backend, Caller caller)
    : backend_(backend),
      caller_(std::move(caller)),
      listener_(backend.store.add_listener([this](const std::string& storage, const Change&) {
        auto found = watches_.find(storage);
        if (found == watches_.end()) return;
        for (auto& [number, watch] : found->second) watch->wake();
      })) {}

InProcessApi::~InProcessApi() { backend_.store.remove_listener(listener_); }

void InProcessApi::call(kube::Request request, kube::ReplyCallback done) {
  auto held = std::make_shared<const kube::Request>(std::move(request));
  backend_.loop.post(scope_.bind([this, held = std::move(held), done = std::move(done)] {
    done(response_of(handle(backend_, *held, caller_)));
  }));
}

std::unique_ptr<kube::Watch> InProcessApi::watch(kube::WatchRequest request,
                                                 kube::WatchHandler handler) {
  auto refuse = [&](StatusError error) {
    return std::make_unique<RefusedWatch>(backend_.loop, std::move(handler),
                                          response_of(Refusal(std::move(error))).error());
  };
  const ResourceInfo* info =
      backend_.table.find(request.type.group, request.type.version, request.type.plural);
  if (info == nullptr) return refuse(path_not_found());
  auto feed = WatchFeed::open(backend_, *info, request.as_request());
  if (!feed) return refuse(feed.error());
  return std::make_unique<FeedWatch>(*this, std::move(*feed), std::move(handler), request.limit);
}

}  // namespace lockstep::apiserver
