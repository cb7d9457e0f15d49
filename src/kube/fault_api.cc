#include "kube/fault_api.h"

#include <algorithm>
#include <utility>

#include "objects/meta.h"

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
    case Fault::list_cut:
      return status_response(410, "Expired",
                             "the provided continue parameter is too old to display a consistent "
                             "list result (injected)");
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

Error unreachable(std::string_view what, std::string place) {
  return Error{ErrorKind::unreachable, std::string(what) + " (injected)", std::move(place)};
}

// The answer to a get, from a list of that one object.
Reply only_item(Reply reply, const ResourceType& type, const std::string& name) {
  if (!reply || !reply->ok()) return reply;
  auto list = reply->document();
  if (!list) return fail(list.error());
  const Json* items = find(**list, "items");
  if (items == nullptr || !items->is_array() || items->get_array().empty()) {
    return status_response(404, "NotFound", type.full_name() + " \"" + name + "\" not found");
  }
  return Response{200, std::make_shared<const Json>(items->get_array().front()), std::nullopt};
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
    lag_ = plan.lag;
    WatchHandler handler;
    handler.on_event =
        scope_.bind([this](WatchEvent event) { arrive(Arrival{std::move(event), {}}); });
    handler.on_end = scope_.bind([this](Error error) { arrive(Arrival{{}, std::move(error)}); });
    inner_ = api_->inner_.watch(request_, std::move(handler));
    if (plan.drop_after) loop_.after(*plan.drop_after, scope_.bind([this] { drop(); }));
    if (plan.silent_after) loop_.after(*plan.silent_after, scope_.bind([this] { silence(); }));
    if (plan.expire_after) loop_.after(*plan.expire_after, scope_.bind([this] { expire(); }));
  }

  void drop() {
    note(Fault::watch_dropped);
    finish(unreachable("connection reset", place()));
  }
  void silence() {
    note(Fault::watch_silent);
    silent_ = true;
  }
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

  void note(Fault fault) {
    if (!silent_ && !finished_ && api_ != nullptr) ++api_->injected_[fault];
  }

  void refuse(Fault fault) {
    Error error = unreachable("connection refused", place());
    if (fault != Fault::request_lost && fault != Fault::away)
      error = refusal(fault, std::nullopt).error().at(place());
    if (fault == Fault::expired) error.kind = ErrorKind::expired;
    loop_.post(scope_.bind([this, error = std::move(error)] { finish(error); }));
  }

  void expire() {
    if (silent_ || finished_) return;
    note(Fault::watch_expired);
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
    arrival.due = loop_.uptime() + api_->source_.event_delay(request_) + lag_;
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
  Duration lag_{0};
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
  if (away_) plan.fault = Fault::away;
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
    case Fault::away:
      return answer(Duration::zero(), fail(unreachable("connection refused", request.describe())),
                    std::move(done));
    default:
      return answer(plan.request_delay + plan.reply_delay, refusal(plan.fault, plan.retry_after),
                    std::move(done));
  }
}

// Makes of a read one of an older state. False: it was answered here.
bool FaultApi::read_from_replica(Request& request, Duration age, ReplyCallback& done) {
  std::string version = history_ ? history_(age) : std::string();
  if (version.empty() || request.find_query("continue") != nullptr) return true;
  const std::string* wanted = request.find_query("resourceVersion");
  if (wanted != nullptr && compare_versions(*wanted, version) == VersionOrder::newer) {
    // What a real server says when it has waited in vain to catch up.
    ++injected_[Fault::stale];
    Response late = status_response(504, "Timeout",
                                    "Timeout: Too large resource version (injected)", seconds(1));
    answer(seconds(3), std::move(late), std::move(done));
    return false;
  }
  ++injected_[Fault::stale];
  std::erase_if(request.query, [](const auto& entry) {
    return entry.first == "resourceVersion" || entry.first == "resourceVersionMatch";
  });
  request.with("resourceVersion", version).with("resourceVersionMatch", "Exact");
  if (request.verb == Verb::get) {
    done = [done = std::move(done), type = request.type, name = request.name](Reply reply) {
      done(only_item(std::move(reply), type, name));
    };
    request.verb = Verb::list;
    request.with("fieldSelector", "metadata.name=" + request.name);
    request.name.clear();
  }
  return true;
}

void FaultApi::forward(Request request, CallPlan plan, ReplyCallback done) {
  bool is_read = request.verb == Verb::list || request.verb == Verb::get;
  if (is_read && !plan.stale && uses_replica() &&
      (replica_serves_all_ || request.find_query("resourceVersion") != nullptr)) {
    plan.stale = replica_lag_;
  }
  if (is_read && plan.stale && request.subresource.empty() &&
      !read_from_replica(request, *plan.stale, done)) {
    return;
  }
  if (plan.page_size > 0 && request.verb == Verb::list) {
    for (auto& [key, value] : request.query) {
      if (key == "limit") value = std::to_string(plan.page_size);
    }
  }
  // Held, not moved along: it is a large thing to carry through three closures.
  auto held = std::make_shared<const Request>(std::move(request));
  auto send = [this, plan, held = std::move(held), done = std::move(done)]() mutable {
    if (away_) {
      ++injected_[Fault::away];
      return done(fail(unreachable("connection refused", held->describe())));
    }
    const Request& sent = *held;
    auto on_reply = [this, plan, held = std::move(held),
                     done = std::move(done)](Reply reply) mutable {
      if (away_ && reply) {
        ++injected_[Fault::away];
        reply = fail(unreachable("connection reset", held->describe()));
      }
      if (plan.fault != Fault::reply_lost) {
        return answer(plan.reply_delay, std::move(reply), std::move(done));
      }
      answer(held->limit, fail(no_answer(*held)), std::move(done));
    };
    inner_.call(sent, scope_.bind(std::move(on_reply)));
  };
  loop_.after(plan.request_delay, scope_.bind(std::move(send)));
}

void FaultApi::answer(Duration delay, Reply reply, ReplyCallback done) {
  loop_.after(delay, scope_.bind([this, outages = outages_, reply = std::move(reply),
                                  done = std::move(done)]() mutable {
    if (reply && outages != outages_) {
      ++injected_[Fault::away];
      reply = fail(unreachable("connection reset", ""));
    }
    done(std::move(reply));
  }));
}

std::unique_ptr<Watch> FaultApi::watch(WatchRequest request, WatchHandler handler) {
  WatchPlan plan = source_.plan_watch(request);
  if (away_) plan.begin = Fault::away;
  if (uses_replica()) plan.lag = std::max(plan.lag, replica_lag_);
  if (plan.begin != Fault::none) {
    ++injected_[plan.begin];
  } else if (plan.lag > Duration::zero()) {
    ++injected_[Fault::stale];
  }
  auto watch = std::make_unique<FaultyWatch>(*this, std::move(request), std::move(handler));
  watch->begin(plan);
  return watch;
}

void FaultApi::drop_watches() {
  // A handler may open or destroy watches when it is called: go through a copy, and skip those that
  // went.
  for (FaultyWatch* watch : std::vector<FaultyWatch*>(watches_)) {
    if (std::find(watches_.begin(), watches_.end(), watch) != watches_.end()) watch->drop();
  }
}

void FaultApi::silence_watches() {
  for (FaultyWatch* watch : watches_) watch->silence();
}

void FaultApi::begin_outage() {
  if (away_) return;
  away_ = true;
  ++outages_;
  drop_watches();
}

void FaultApi::use_replica(Duration lag, Duration period, bool all_reads) {
  replica_lag_ = lag;
  replica_until_ = loop_.uptime() + period;
  replica_serves_all_ = all_reads;
  drop_watches();
}

}  // namespace lockstep::kube
