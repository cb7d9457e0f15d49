#include "kube/http_watch.h"

#include <optional>
#include <utility>

#include "kube/watch_stream.h"

namespace lockstep::kube {

namespace {

// Lives as long as its Watch, or as long as one of its callbacks runs: a callback may destroy the
// Watch, and the Api with it.
class WatchSession : public std::enable_shared_from_this<WatchSession> {
  // A callback that does nothing once the session is closed or the Api is gone.
  template <typename Function>
  auto bind(Function function) {
    return [weak = weak_from_this(), function](auto&&... args) {
      const auto self = weak.lock();
      if (self && self->is_open()) function(*self, std::forward<decltype(args)>(args)...);
    };
  }

  bool is_open() const { return !closed_ && !core_.expired(); }

 public:
  WatchSession(const std::shared_ptr<HttpCore>& core, WatchRequest request, WatchHandler handler)
      : core_(core),
        loop_(core->loop()),
        grace_(core->config().watch_grace),
        silence_limit_(request.silence_limit),
        request_(request.as_request()),
        handler_(std::move(handler)),
        stream_(core->config().event_limit) {}

  void start() {
    heard_at_ = loop_.uptime();
    loop_.post(bind([](WatchSession& self) { self.authenticate(); }));
    if (request_.limit > Duration(0)) {
      overdue_ = loop_.after(request_.limit + grace_,
                             bind([](WatchSession& self) { self.end(self.overdue_error()); }));
    }
    watch_for_silence(silence_limit_);
  }

  // No callback runs after this.
  void close() {
    if (closed_) return;
    closed_ = true;
    loop_.cancel(overdue_);
    loop_.cancel(silence_);
    if (auto core = core_.lock(); core && exchange_ != 0) core->transport().cancel(exchange_);
  }

 private:
  void authenticate() {
    auto got =
        bind([](WatchSession& self, Result<Identity> identity) { self.send(std::move(identity)); });
    // The raw reference: a lock held across a callback would keep the core alive past its Api.
    HttpCore& core = *core_.lock();
    core.credentials().get(std::move(got));
  }

  void send(Result<Identity> identity) {
    if (!identity) return end(identity.error());
    if (refusal_ && identity_ == *identity) return end(refusal_->error());
    identity_ = std::move(*identity);
    http::Client::Handlers handlers{
        bind([](WatchSession& self, std::string_view bytes) { self.arrived(bytes); }),
        bind([](WatchSession& self, Result<http::Response> answer) {
          self.answered(std::move(answer));
        })};
    auto exchange = core_.lock()->send(request_, identity_, true, std::move(handlers));
    if (!exchange) return end(exchange.error());
    exchange_ = *exchange;
  }

  void arrived(std::string_view bytes) {
    heard_at_ = loop_.uptime();
    stream_.append(bytes);
    while (auto event = stream_.next()) {
      if (!hand_on(std::move(*event))) return;
    }
  }

  // False: there is nothing more to do, for whatever reason.
  bool hand_on(Result<WatchEvent> event) {
    if (!event) {
      end(event.error());
      return false;
    }
    if (event->type == WatchEventType::error) {
      end(error_of_event(*event));
      return false;
    }
    handler_.on_event(std::move(*event));
    return is_open();
  }

  void answered(Result<http::Response> answer) {
    exchange_ = 0;
    if (!answer) return end(answer.error());
    if (answer->code < 200 || answer->code >= 300) return refused(std::move(*answer));
    if (auto last = stream_.finish(); last && !hand_on(std::move(*last))) return;
    end(Error{
        ErrorKind::timed_out, "the server ended the watch, as it does from time to time", {}});
  }

  void refused(http::Response answer) {
    HttpCore& core = *core_.lock();
    const bool unknown = answer.code == 401;
    Response response = core.response_of(std::move(answer));
    if (unknown && !refusal_ && core.credentials().refused(identity_)) {
      refusal_ = std::move(response);
      return authenticate();
    }
    end(response.error());
  }

  void watch_for_silence(Duration delay) {
    if (silence_limit_ <= Duration(0)) return;
    silence_ = loop_.after(delay, bind([](WatchSession& self) { self.check_silence(); }));
  }

  void check_silence() {
    const Duration silent = loop_.uptime() - heard_at_;
    if (silent < silence_limit_) return watch_for_silence(silence_limit_ - silent);
    end(Error{ErrorKind::unreachable,
              fmt::format("nothing came from the server for {}", format_duration(silence_limit_)),
              {}});
  }

  Error overdue_error() const {
    return Error{
        ErrorKind::timed_out,
        fmt::format("the server did not end the watch after {}", format_duration(request_.limit)),
        {}};
  }

  void end(const Error& error) {
    close();
    // The caller holds the session; the handler may destroy its Watch and the Api. The handler is
    // released here: what it holds may be the owner of the Watch.
    const auto on_end = std::exchange(handler_.on_end, nullptr);
    if (on_end) on_end(error.at("watch " + request_.type.plural));
  }

  std::weak_ptr<HttpCore> core_;
  EventLoop& loop_;
  Duration grace_;
  Duration silence_limit_;
  Request request_;
  WatchHandler handler_;
  WatchStream stream_;
  Identity identity_;
  std::optional<Response> refusal_;
  http::Client::Id exchange_ = 0;
  Duration heard_at_{0};
  TimerId overdue_ = 0;
  TimerId silence_ = 0;
  bool closed_ = false;
};

class HttpWatch final : public Watch {
 public:
  explicit HttpWatch(std::shared_ptr<WatchSession> session) : session_(std::move(session)) {}
  ~HttpWatch() override { session_->close(); }

 private:
  std::shared_ptr<WatchSession> session_;
};

}  // namespace

std::unique_ptr<Watch> start_http_watch(const std::shared_ptr<HttpCore>& core, WatchRequest request,
                                        WatchHandler handler) {
  auto session = std::make_shared<WatchSession>(core, std::move(request), std::move(handler));
  session->start();
  return std::make_unique<HttpWatch>(std::move(session));
}

}  // namespace lockstep::kube
