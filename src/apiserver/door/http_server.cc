#include "apiserver/door/http_server.h"

#include <utility>

#include "apiserver/door/request_guard.h"
#include "apiserver/door/watch_rounds.h"
#include "base/ip_address.h"
#include "base/strings.h"
#include "http/server.h"

namespace lockstep::apiserver {

namespace {

http::Answer plain_form(HttpAnswer answer) {
  http::Answer made;
  made.code = answer.code;
  made.content_type = std::move(answer.content_type);
  made.headers = std::move(answer.headers);
  made.body = std::move(answer.body);
  made.more = std::move(answer.more);
  made.pause = answer.pause;
  return made;
}

http::Answer refuse(int code, std::string_view why) {
  StatusError error = bad_request(fmt::format("malformed HTTP request: {}", why));
  if (code == 413) {
    error = too_large(std::string(why));
  } else if (code != 400) {
    error.code = code;
    error.message = why.empty() ? http::phrase_of(code) : why;
  }
  return plain_form(Front::refuse(error));
}

// A watch on its way to one client.
class WatchBody final : public http::Stream {
 public:
  WatchBody(Loop& loop, Front& front, WatchRounds& rounds, std::shared_ptr<WatchStream> watch,
            Duration bookmark_interval)
      : loop_(loop),
        front_(front),
        rounds_(rounds),
        watch_(std::move(watch)),
        bookmark_interval_(bookmark_interval),
        number_(rounds.add(watch_->storage(), *this)) {
    end_timer_ = loop_.after(watch_->limit(), scope_.bind([this] {
      is_over_ = true;
      wake();
    }));
    set_bookmark();
  }
  ~WatchBody() override {
    loop_.cancel(end_timer_);
    loop_.cancel(bookmark_timer_);
    rounds_.remove(watch_->storage(), number_);
  }

  Piece next() override {
    Piece piece;
    if (watch_->ready()) {
      piece.text = front_.next_events(*watch_);
    } else if (bookmark_due_) {
      // Only a watcher that has seen everything may learn its position.
      bookmark_due_ = false;
      piece.text = front_.bookmark(*watch_);
    }
    piece.is_last = watch_->ended() || (is_over_ && !watch_->ready());
    piece.again = watch_->ready();
    return piece;
  }

  // What a watch holds before anything is sent.
  size_t held() const override { return watch_->initial_objects() * sizeof(StoredPtr); }

 private:
  void set_bookmark() {
    if (!watch_->wants_bookmarks()) return;
    bookmark_timer_ = loop_.after(bookmark_interval_, scope_.bind([this] {
      bookmark_due_ = true;
      set_bookmark();
      wake();
    }));
  }

  Loop& loop_;
  Front& front_;
  WatchRounds& rounds_;
  std::shared_ptr<WatchStream> watch_;
  Duration bookmark_interval_;
  uint64_t number_;
  TimerId end_timer_ = 0;
  TimerId bookmark_timer_ = 0;
  bool is_over_ = false;
  bool bookmark_due_ = false;
  Scope scope_;
};

class Door final : public HttpServer {
 public:
  Door(EventLoop& loop, Backend& backend, Front& front, Authenticator authenticator,
       HttpOptions options)
      : loop_(loop),
        backend_(backend),
        front_(front),
        authenticator_(std::move(authenticator)),
        options_(std::move(options)),
        rounds_(loop),
        listener_(backend.store.add_listener(
            [this](const std::string& storage, const Change&) { rounds_.on_change(storage); })) {}

  ~Door() override { backend_.store.remove_listener(listener_); }

  Result<void> begin(Log& log) {
    if (!IpAddress::parse(options_.address)) {
      return failf(ErrorKind::invalid, "{} is no IP address", options_.address);
    }
    http::ServerOptions server;
    if (options_.tls) {
      server.tls = http::TlsOptions{options_.tls->server.certificate, options_.tls->server.key,
                                    options_.tls->authority.certificate};
    }
    server.body_bytes = options_.body_limit;
    server.connections = options_.connection_limit;
    server.stream_bytes = options_.watch_memory;
    server.request_limit = options_.request_limit;
    server.idle_limit = options_.idle_limit;
    server.write_limit = options_.write_limit;
    server.gzip = options_.gzip;
    server.refuse = refuse;
    const bool is_v6 = options_.address.find(':') != std::string::npos;
    auto listening = http::Server::listen(
        loop_, log,
        fmt::format("{}{}{}:{}", is_v6 ? "[" : "", options_.address, is_v6 ? "]" : "",
                    options_.port),
        [this](http::Request request, const http::Server::Respond& respond) {
          respond(answer(std::move(request)));
        },
        std::move(server));
    if (!listening) {
      return failf(ErrorKind::unreachable,
                   "{}; is another server there? (--port 0 takes a free port)",
                   listening.error().message);
    }
    server_ = std::move(*listening);
    guard_.hosts = options_.hosts;
    guard_.hosts.push_back(options_.address);
    guard_.port = server_->port();
    guard_.any_host = options_.tls.has_value();
    return {};
  }

  uint16_t port() const override { return server_->port(); }
  size_t connections() const override { return server_->connections(); }
  void drop_connections() override { server_->drop_connections(); }
  Authenticator& authenticator() override { return authenticator_; }

 private:
  http::Answer answer(http::Request from) {
    HttpRequest request;
    request.accept = from.header("accept");
    request.content_type = from.header("content-type");
    const RequestSource source{from.header("host"), from.header("origin"),
                               from.header("sec-fetch-site"), request.content_type,
                               !from.body.empty()};
    if (auto checked = check_source(guard_, source); !checked) {
      return plain_form(Front::refuse(checked.error()));
    }
    if (!Authenticator::is_public(from.target)) {
      auto caller = authenticate(from);
      if (!caller) return plain_form(Front::refuse(caller.error()));
      request.caller = std::move(*caller);
    }
    const std::string_view agent = from.header("user-agent");
    if (is_valid_utf8(agent)) request.caller.agent = agent;
    request.method = std::move(from.method);
    request.target = std::move(from.target);
    request.body = std::move(from.body);
    HttpAnswer answer;
    try {
      answer = front_.answer(request);
    } catch (const std::exception& problem) {
      // A bug of ours must affect only the request that met it.
      answer = Front::refuse(internal_error(fmt::format("the server failed: {}", problem.what())));
    }
    if (!answer.watch) return plain_form(std::move(answer));
    if (server_->stream_bytes() > options_.watch_memory) {
      return plain_form(Front::refuse(too_many_requests("too many events wait for watches", 5)));
    }
    const auto watch = std::move(answer.watch);
    http::Answer made = plain_form(std::move(answer));
    made.stream =
        std::make_shared<WatchBody>(loop_, front_, rounds_, watch, options_.bookmark_interval);
    return made;
  }

  Outcome<Caller> authenticate(const http::Request& request) const {
    static const http::ClientCertificate none;
    const http::ClientCertificate& shown = request.certificate ? *request.certificate : none;
    std::vector<std::string> groups = shown.organizations;
    if (!shown.common_name.empty()) groups.emplace_back("system:authenticated");
    return authenticator_.authenticate(request.header("authorization"), shown.common_name, groups);
  }

  EventLoop& loop_;
  Backend& backend_;
  Front& front_;
  Authenticator authenticator_;
  HttpOptions options_;
  RequestGuard guard_;
  WatchRounds rounds_;
  uint64_t listener_;
  // The last: its streams know the rounds.
  std::unique_ptr<http::Server> server_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::listen(EventLoop& loop, Log& log, Backend& backend,
                                                       Front& front, Authenticator authenticator,
                                                       HttpOptions options) {
  auto server =
      std::make_unique<Door>(loop, backend, front, std::move(authenticator), std::move(options));
  LOCKSTEP_CHECK(server->begin(log));
  return server;
}

}  // namespace lockstep::apiserver
