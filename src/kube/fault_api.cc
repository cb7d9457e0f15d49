#include "kube/fault_api.h"

#include <algorithm>
#include <utility>

namespace lockstep::kube {
namespace {

Response status_response(int code, std::string_view reason, std::string_view message,
                         std::optional<Duration> retry_after = std::nullopt) {
  Json status = {{"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", JsonObject{}},
                 {"status", "Failure"}, {"message", message}, {"reason", reason},
                 {"code", code}};
  return Response{code, std::make_shared<const Json>(std::move(status)), retry_after};
}

Response refusal(Fault fault, std::optional<Duration> retry_after) {
  switch (fault) {
    case Fault::conflict:
      return status_response(
          409, "Conflict",
          "the object has been modified; please apply your changes to the latest "
          "version (injected)");
    case Fault::expired:
      return status_response(410, "Expired", "the resource version is too old (injected)");
    case Fault::throttled:
      return status_response(429, "TooManyRequests", "too many requests (injected)", retry_after);
    default:
      return status_response(500, "InternalError", "etcdserver: request timed out (injected)",
                             retry_after);
  }
}

Error no_answer(const Request& request) {
  return Error{ErrorKind::timed_out, "no answer (injected)", request.describe()};
}

}  // namespace

// Passes events on in their order, each as late as the source says.
class FaultApi::FaultyWatch final : public Watch {
 public:
  FaultyWatch(FaultApi& api, WatchRequest request, WatchHandler handler)
      : api_(&api), loop_(api.loop_), request_(std::move(request)), handler_(std::move(handler)) {
    api.watches_.push_back(this);
  }
  ~FaultyWatch() override {
    if (api_ != nullptr) std::erase(api_->watches_, this);
  }

  void begin(const WatchPlan& plan) {
    if (plan.begin != Fault::none) return refuse(plan.begin);
    WatchHandler handler;
    handler.on_event =
        scope_.bind([this](WatchEvent event) { arrive(Arrival{std::move(event), {}}); });
    handler.on_end = scope_.bind([this](Error error) { arrive(Arrival{{}, std::move(error)}); });
    inner_ = api_->inner_.watch(request_, std::move(handler));
    if (plan.drop_after) loop_.after(*plan.drop_after, scope_.bind([this] { drop(); }));
    if (plan.silent_after) loop_.after(*plan.silent_after, scope_.bind([this] { silence(); }));
    if (plan.expire_after) loop_.after(*plan.expire_after, scope_.bind([this] { expire(); }));
  }

  void drop() { finish({ErrorKind::unreachable, "connection reset (injected)", place()}); }
  void silence() { silent_ = true; }
  void detach() {
    api_ = nullptr;
    inner_.reset();
  }

 private:
  // An event, or the end.
  struct Arrival {
    std::optional<WatchEvent> event;
    std::optional<Error> end;
    Duration due{0};
  };

  std::string place() const { return "watch " + request_.type.full_name(); }

  void refuse(Fault fault) {
    Error error{ErrorKind::unreachable, "connection refused (injected)", place()};
    if (fault != Fault::request_lost) error = refusal(fault, std::nullopt).error().at(place());
    if (fault == Fault::expired) error.kind = ErrorKind::expired;
    loop_.post(scope_.bind([this, error = std::move(error)] { finish(error); }));
  }

  void expire() {
    if (silent_ || finished_) return;
    Response response = refusal(Fault::expired, std::nullopt);
    // What is still on its way is lost; the stream ends with the error.
    arrivals_.clear();
    expiring_ = true;
    arrivals_.push_back({WatchEvent{WatchEventType::error, std::move(response.body)}, {}, {}});
    arrivals_.push_back(
        {{}, Error{ErrorKind::expired, "too old resource version (injected)", place()}, {}});
    deliver_later();
  }

  void arrive(Arrival arrival) {
    if (silent_ || finished_ || expiring_ || api_ == nullptr) return;
    arrival.due = loop_.uptime() + api_->source_.event_delay(request_);
    if (!arrivals_.empty()) arrival.due = std::max(arrival.due, arrivals_.back().due);
    arrivals_.push_back(std::move(arrival));
    deliver_later();
  }

  // One timer at a time: two that are due at the same instant run in any order.
  void deliver_later() {
    if (delivering_ || arrivals_.empty()) return;
    delivering_ = true;
    Duration delay = std::max(arrivals_.front().due - loop_.uptime(), Duration::zero());
    loop_.after(delay, scope_.bind([this] { deliver(); }));
  }

  void deliver() {
    delivering_ = false;
    if (silent_ || finished_ || arrivals_.empty()) return;
    if (arrivals_.front().due > loop_.uptime()) return deliver_later();
    Arrival arrival = std::move(arrivals_.front());
    arrivals_.pop_front();
    if (arrival.end) return finish(std::move(*arrival.end));
    deliver_later();
    // A copy, and last: the handler may destroy the watch.
    auto on_event = handler_.on_event;
    on_event(std::move(*arrival.event));
  }

  void finish(Error error) {
    if (silent_ || finished_) return;
    finished_ = true;
    inner_.reset();
    auto on_end = handler_.on_end;
    on_end(std::move(error));
  }

  FaultApi* api_;
  Loop& loop_;
  WatchRequest request_;
  WatchHandler handler_;
  std::unique_ptr<Watch> inner_;
  std::deque<Arrival> arrivals_;
  bool delivering_ = false;
  bool silent_ = false;
  bool expiring_ = false;
  bool finished_ = false;
  Scope scope_;
};

FaultApi::FaultApi(Api& inner, Loop& loop, FaultSource& source)
    : inner_(inner), loop_(loop), source_(source) {}

FaultApi::~FaultApi() {
  for (FaultyWatch* watch : watches_) watch->detach();
}

void FaultApi::call(Request request, ReplyCallback done) {
  CallPlan plan = source_.plan_call(request);
  if (plan.fault != Fault::none) ++injected_[plan.fault];
  switch (plan.fault) {
    case Fault::none:
    case Fault::reply_lost:
      return forward(std::move(request), plan, std::move(done));
    case Fault::request_lost:
      return answer(request.limit, fail(no_answer(request)), std::move(done));
    case Fault::request_late:
      answer(request.limit, fail(no_answer(request)), std::move(done));
      plan.request_delay += request.limit;
      return forward(std::move(request), plan, [](Reply) {});
    default:
      return answer(plan.request_delay + plan.reply_delay, refusal(plan.fault, plan.retry_after),
                    std::move(done));
  }
}

void FaultApi::forward(Request request, CallPlan plan, ReplyCallback done) {
  auto send = [this, plan, request = std::move(request), done = std::move(done)]() mutable {
    std::string place = request.describe();
    Duration limit = request.limit;
    auto on_reply = [this, plan, limit, place, done = std::move(done)](Reply reply) mutable {
      if (plan.fault != Fault::reply_lost) {
        return answer(plan.reply_delay, std::move(reply), std::move(done));
      }
      Error lost{ErrorKind::timed_out, "no answer (injected)", std::move(place)};
      answer(limit, fail(std::move(lost)), std::move(done));
    };
    inner_.call(std::move(request), scope_.bind(std::move(on_reply)));
  };
  loop_.after(plan.request_delay, scope_.bind(std::move(send)));
}

void FaultApi::answer(Duration delay, Reply reply, ReplyCallback done) {
  loop_.after(delay, scope_.bind([reply = std::move(reply), done = std::move(done)]() mutable {
    done(std::move(reply));
  }));
}

std::unique_ptr<Watch> FaultApi::watch(WatchRequest request, WatchHandler handler) {
  WatchPlan plan = source_.plan_watch(request);
  if (plan.begin != Fault::none) ++injected_[plan.begin];
  auto watch = std::make_unique<FaultyWatch>(*this, std::move(request), std::move(handler));
  watch->begin(plan);
  return watch;
}

void FaultApi::drop_watches() {
  // A handler that is told may open or destroy watches: go through a copy, and skip those that
  // went.
  for (FaultyWatch* watch : std::vector<FaultyWatch*>(watches_)) {
    if (std::find(watches_.begin(), watches_.end(), watch) != watches_.end()) watch->drop();
  }
}

void FaultApi::silence_watches() {
  for (FaultyWatch* watch : watches_) watch->silence();
}

}  // namespace lockstep::kube
