// All of Boost.Beast and Asio's sockets are in this one file: it takes half a minute to compile.
#include "apiserver/http_server.h"

#include <array>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>

#include "apiserver/http_details.h"
#include "apiserver/request_guard.h"
#include "apiserver/watch_backlog.h"
#include "base/strings.h"
#include "data/gzip.h"

namespace lockstep::apiserver {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr size_t gzip_threshold = 128 << 10;
constexpr size_t header_limit = 64 << 10;

class Server;

// What the server knows of a connection, with or without TLS.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void close() = 0;
  // The watch's resource changed.
  virtual void wake() = 0;
  void forget_server() { server_ = nullptr; }

 protected:
  explicit Connection(Server* server, uint64_t number) : server_(server), number_(number) {}
  Server* server_;  // null once the server is gone
  uint64_t number_;
};

class Server final : public HttpServer {
 public:
  Server(AsioLoop& loop, Backend& backend, Front& front, Authenticator authenticator,
         HttpOptions options)
      : loop_(loop),
        backend_(backend),
        front_(front),
        authenticator_(std::move(authenticator)),
        options_(std::move(options)),
        acceptor_(loop.context()),
        accept_timer_(loop.context()),
        flush_timer_(loop.context()),
        listener_(backend.store.add_listener(
            [this](const std::string& storage, const Change&) { on_change(storage); })) {}

  ~Server() override {
    backend_.store.remove_listener(listener_);
    for (auto& [number, connection] : connections_) connection->forget_server();
    auto open = std::move(connections_);
    for (auto& [number, connection] : open) connection->close();
  }

  Result<void> begin() {
    if (options_.tls) {
      try {
        context_.emplace(make_tls_context(*options_.tls));
      } catch (const std::exception& problem) {
        return failf(ErrorKind::invalid, "the TLS certificate or key cannot be used: {}",
                     problem.what());
      }
    }
    ErrorCode error;
    auto address = asio::ip::make_address(options_.address, error);
    if (error) return failf(ErrorKind::invalid, "{} is no IP address", options_.address);
    tcp::endpoint endpoint(address, options_.port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      return failf(
          ErrorKind::unreachable,
          "cannot listen on {}:{}: {}; is another server there? (--port 0 takes a free port)",
          options_.address, options_.port, error.message());
    }
    port_ = acceptor_.local_endpoint().port();
    guard_.hosts = options_.hosts;
    guard_.hosts.push_back(options_.address);
    guard_.port = port_;
    guard_.any_host = options_.tls.has_value();
    accept();
    return {};
  }

  uint16_t port() const override { return port_; }
  size_t connections() const override { return connections_.size(); }
  void drop_connections() override {
    auto open = std::move(connections_);
    connections_.clear();
    watchers_.clear();
    backlog_ = {};
    for (auto& [number, connection] : open) connection->close();
  }

  Authenticator& authenticator() override { return authenticator_; }
  // Our time, for clients who compare clocks; made once a second.
  const std::string& date() {
    int64_t second = loop_.now().unix_seconds();
    if (second != date_second_) {
      date_second_ = second;
      date_ = http_date(second);
    }
    return date_;
  }

  // For connections.
  Front& front() { return front_; }
  const HttpOptions& options() const { return options_; }
  const RequestGuard& guard() const { return guard_; }
  void add_watcher(const std::string& storage, uint64_t number) {
    watchers_[storage].insert(number);
  }
  void remove_watcher(const std::string& storage, uint64_t number) {
    watchers_[storage].erase(number);
  }
  void forget(uint64_t number) { connections_.erase(number); }
  // A watch has `bytes` on their way, in the place of what it had; 0: nothing.
  void account(uint64_t number, size_t bytes) { backlog_.set(number, bytes); }
  size_t watch_bytes() const { return backlog_.bytes(); }
  // Ends those that do not read until the rest has room; never the one that asks.
  void make_room(uint64_t number) {
    while (backlog_.bytes() > options_.watch_memory) {
      const auto slowest = backlog_.slowest_but(number);
      const auto found = slowest ? connections_.find(*slowest) : connections_.end();
      if (found == connections_.end()) return;
      const std::shared_ptr<Connection> connection = found->second;
      connection->close();
    }
  }

 private:
  void accept();
  void start(tcp::socket socket);

  // Changes come in bursts: watchers are served in rounds, and a round that took long delays the
  // next, so that requests still get their share of the thread.
  void on_change(const std::string& storage) {
    if (watchers_.find(storage) == watchers_.end()) return;
    dirty_.insert(storage);
    if (flush_scheduled_) return;
    flush_scheduled_ = true;
    Duration wait = std::max(Duration(0), flush_end_ + flush_pause_ - loop_.uptime());
    flush_timer_.expires_after(wait);
    flush_timer_.async_wait([this](const ErrorCode& error) {
      if (!error) flush();
    });
  }

  void flush() {
    flush_scheduled_ = false;
    Duration begin = loop_.uptime();
    for (const auto& storage : std::exchange(dirty_, {})) {
      auto found = watchers_.find(storage);
      if (found == watchers_.end()) continue;
      std::vector<uint64_t> numbers(found->second.begin(), found->second.end());
      for (uint64_t number : numbers) {
        auto connection = connections_.find(number);
        if (connection != connections_.end()) connection->second->wake();
      }
    }
    flush_end_ = loop_.uptime();
    flush_pause_ =
        std::clamp<Duration>(2 * (flush_end_ - begin), microseconds(100), milliseconds(50));
  }

  AsioLoop& loop_;
  Backend& backend_;
  Front& front_;
  Authenticator authenticator_;
  HttpOptions options_;
  std::optional<asio::ssl::context> context_;
  tcp::acceptor acceptor_;
  asio::steady_timer accept_timer_;
  asio::steady_timer flush_timer_;
  uint64_t listener_;
  uint16_t port_ = 0;
  RequestGuard guard_;
  uint64_t next_number_ = 1;
  int64_t date_second_ = -1;
  std::string date_;
  std::map<uint64_t, std::shared_ptr<Connection>> connections_;
  std::map<std::string, std::set<uint64_t>> watchers_;
  WatchBacklog backlog_;
  std::set<std::string> dirty_;
  bool flush_scheduled_ = false;
  Duration flush_end_{0};
  Duration flush_pause_{0};
};

template <typename Stream>
class Session final : public Connection, public std::enable_shared_from_this<Session<Stream>> {
  static constexpr bool has_tls = !std::is_same_v<Stream, tcp::socket>;

 public:
  template <typename... Args>
  Session(Server* server, uint64_t number, Args&&... args)
      : Connection(server, number),
        stream_(std::forward<Args>(args)...),
        deadline_(stream_.get_executor()),
        watch_timer_(stream_.get_executor()),
        bookmark_timer_(stream_.get_executor()) {}

  void start() {
    if constexpr (has_tls) {
      arm(server_->options().request_limit);
      stream_.async_handshake(asio::ssl::stream_base::server, guard([this](const ErrorCode& error) {
                                if (error) return close();
                                certificate_user_ =
                                    subject_of(stream_.native_handle(), certificate_groups_);
                                wait_for_request();
                              }));
    } else {
      wait_for_request();
    }
  }

  void close() override {
    if (closed_) return;
    closed_ = true;
    auto self = this->shared_from_this();
    deadline_.cancel();
    watch_timer_.cancel();
    bookmark_timer_.cancel();
    ErrorCode ignored;
    socket().shutdown(tcp::socket::shutdown_both, ignored);
    socket().close(ignored);
    if (server_ == nullptr) return;
    if (watch_) {
      server_->remove_watcher(watch_->storage(), number_);
      server_->account(number_, 0);
    }
    server_->forget(number_);
  }

  void wake() override { pump(); }

 private:
  tcp::socket& socket() {
    if constexpr (has_tls)
      return stream_.next_layer();
    else
      return stream_;
  }

  // A handler that keeps the session alive and does nothing once it, or the server, is closed.
  template <typename Handler>
  auto guard(Handler handler) {
    return [self = this->shared_from_this(), handler = std::move(handler)](const ErrorCode& error,
                                                                           auto&&... rest) mutable {
      if (self->closed_ || self->server_ == nullptr) return;
      handler(error, std::forward<decltype(rest)>(rest)...);
    };
  }

  void arm(Duration limit) {
    deadline_.expires_after(limit);
    deadline_.async_wait([weak = this->weak_from_this()](const ErrorCode& error) {
      if (error) return;
      if (auto self = weak.lock()) self->close();
    });
  }

  void wait_for_request() {
    if (buffer_.size() > 0 || has_tls) return read();
    arm(server_->options().idle_limit);
    socket().async_wait(tcp::socket::wait_read, guard([this](const ErrorCode& error) {
                          if (error) return close();
                          read();
                        }));
  }

  void read() {
    parser_.emplace();
    parser_->body_limit(server_->options().body_limit);
    parser_->header_limit(header_limit);
    arm(has_tls ? server_->options().idle_limit : server_->options().request_limit);
    http::async_read(stream_, buffer_, *parser_,
                     guard([this](const ErrorCode& error, size_t) { on_request(error); }));
  }

  void on_request(const ErrorCode& error) {
    keep_alive_ = false;
    if (error == http::error::body_limit) {
      return send(Front::refuse(too_large(
          fmt::format("Request entity too large: limit is {}", server_->options().body_limit))));
    }
    if (error == http::error::header_limit) {
      return send(Front::refuse(too_large("the request's header is too large")));
    }
    if (error == http::error::end_of_stream || error == asio::error::eof) return close();
    if (error && error.category() == http::make_error_code(http::error::bad_method).category()) {
      return send(
          Front::refuse(bad_request(fmt::format("malformed HTTP request: {}", error.message()))));
    }
    if (error) return close();
    deadline_.cancel();
    auto& message = parser_->get();
    keep_alive_ = message.keep_alive();
    is_old_ = message.version() < 11;
    is_head_ = message.method() == http::verb::head;
    takes_gzip_ = server_->options().gzip && message[http::field::accept_encoding].contains("gzip");
    HttpRequest request;
    request.method = std::string(message.method_string());
    request.target = std::string(message.target());
    request.accept = std::string(message[http::field::accept]);
    request.content_type = std::string(message[http::field::content_type]);
    std::string authorization(message[http::field::authorization]);
    std::string agent(message[http::field::user_agent]);
    request.body = std::move(message.body());
    const RequestSource source{std::string_view(message[http::field::host]),
                               std::string_view(message[http::field::origin]),
                               std::string_view(message["Sec-Fetch-Site"]), request.content_type,
                               !request.body.empty()};
    if (auto checked = check_source(server_->guard(), source); !checked) {
      return send(Front::refuse(checked.error()));
    }
    if (!Authenticator::is_public(request.target)) {
      auto caller = server_->authenticator().authenticate(authorization, certificate_user_,
                                                          certificate_groups_);
      if (!caller) return send(Front::refuse(caller.error()));
      request.caller = std::move(*caller);
    }
    if (is_valid_utf8(agent)) request.caller.agent = std::move(agent);
    HttpAnswer answer;
    try {
      answer = server_->front().answer(request);
    } catch (const std::exception& problem) {
      // A bug of ours must stay the trouble of the one who met it.
      answer = Front::refuse(internal_error(fmt::format("the server failed: {}", problem.what())));
    }
    send(std::move(answer));
  }

  std::string head(const HttpAnswer& answer, bool chunked, size_t length, bool gzip) {
    std::string text = fmt::format(
        "HTTP/1.1 {} {}\r\nDate: {}\r\nContent-Type: {}\r\n", answer.code,
        std::string_view(
            http::obsolete_reason(http::int_to_status(static_cast<unsigned>(answer.code))).data()),
        server_ == nullptr ? http_date(0) : server_->date(), answer.content_type);
    for (const auto& [name, value] : answer.headers) text += name + ": " + value + "\r\n";
    if (gzip) text += "Content-Encoding: gzip\r\n";
    if (!keep_alive_)
      text += "Connection: close\r\n";
    else if (is_old_)
      text += "Connection: keep-alive\r\n";
    text += chunked ? std::string("Transfer-Encoding: chunked\r\n\r\n")
                    : fmt::format("Content-Length: {}\r\n\r\n", length);
    return text;
  }

  void send(HttpAnswer answer) {
    if (answer.watch) return begin_watch(std::move(answer));
    if (answer.more && is_old_) {
      // HTTP/1.0 has no chunks.
      while (answer.more(answer.body)) {
      }
      answer.more = nullptr;
    }
    bool gzip = takes_gzip_ && (answer.more || answer.body.size() > gzip_threshold);
    if (answer.more) return begin_pieces(std::move(answer), gzip);
    if (gzip) answer.body = Gzip().add(answer.body, true);
    out_ = head(answer, false, answer.body.size(), gzip);
    if (!is_head_) out_ += answer.body;
    write_out([this] { finish(); });
  }

  template <typename Next>
  void write_out(Next next) {
    arm(server_->options().write_limit);
    asio::async_write(stream_, asio::buffer(out_),
                      guard([this, next](const ErrorCode& error, size_t) mutable {
                        if (error) return close();
                        next();
                      }));
  }

  void finish() {
    if (out_.capacity() > (1 << 20)) std::string().swap(out_);
    if (!keep_alive_) return close();
    wait_for_request();
  }

  // A long body, a piece at a time: the next is made when the last was taken.
  void begin_pieces(HttpAnswer answer, bool gzip) {
    if (gzip) gzip_ = std::make_unique<Gzip>();
    out_ = head(answer, true, 0, gzip);
    pieces_ = std::move(answer.more);
    pause_ = answer.pause;
    next_piece();
  }

  void next_piece() {
    std::string piece;
    bool more = pieces_(piece);
    if (gzip_) piece = gzip_->add(piece, !more);
    if (!piece.empty()) out_ += fmt::format("{:x}\r\n", piece.size()) + piece + "\r\n";
    if (!more) out_ += "0\r\n\r\n";
    if (out_.empty()) return next_piece();
    write_out([this, more] {
      out_.clear();
      if (more && pause_ > Duration(0)) return next_piece_after_pause();
      if (more) return next_piece();
      pieces_ = nullptr;
      gzip_.reset();
      finish();
    });
  }

  void next_piece_after_pause() {
    deadline_.cancel();
    watch_timer_.expires_after(pause_);
    watch_timer_.async_wait(guard([this](const ErrorCode& error) {
      if (!error) next_piece();
    }));
  }

  // What a watch holds before anything is sent.
  size_t initial_bytes() const { return watch_->initial_objects() * sizeof(StoredPtr); }

  void begin_watch(HttpAnswer answer) {
    if (server_->watch_bytes() > server_->options().watch_memory) {
      return send(Front::refuse(too_many_requests("too many events wait for watches", 5)));
    }
    keep_alive_ = false;
    watch_ = std::move(answer.watch);
    out_ = head(answer, true, 0, false);
    server_->add_watcher(watch_->storage(), number_);
    server_->account(number_, initial_bytes());
    watch_timer_.expires_after(watch_->limit());
    watch_timer_.async_wait(guard([this](const ErrorCode& error) {
      if (error) return;
      watch_over_ = true;
      pump();
    }));
    arm_bookmark();
    notice_hang_up();
    writing_ = true;
    write_out([this] { on_written(); });
  }

  void arm_bookmark() {
    if (!watch_->wants_bookmarks()) return;
    bookmark_timer_.expires_after(server_->options().bookmark_interval);
    bookmark_timer_.async_wait(guard([this](const ErrorCode& error) {
      if (error) return;
      bookmark_due_ = true;
      pump();
      arm_bookmark();
    }));
  }

  // A client that goes away in the middle of a watch is noticed by reading.
  void notice_hang_up() {
    stream_.async_read_some(asio::buffer(hang_up_byte_),
                            guard([this](const ErrorCode& error, size_t) {
                              if (error) return close();
                              notice_hang_up();
                            }));
  }

  // Sends what the watch has, if nothing is on its way.
  void pump() {
    if (writing_ || !watch_) return;
    if (watch_->ready()) {
      chunk_ = server_->front().next_events(*watch_);
    } else if (bookmark_due_) {
      // Only a watcher that has seen everything may be told where it stands.
      bookmark_due_ = false;
      chunk_ = server_->front().bookmark(*watch_);
    }
    bool over = watch_->ended() || (watch_over_ && !watch_->ready());
    if (!chunk_ && !over) {
      if (watch_->ready()) asio::post(stream_.get_executor(), guard_task([this] { pump(); }));
      return;
    }
    out_.clear();
    std::array<asio::const_buffer, 3> buffers;
    if (chunk_) {
      out_ = fmt::format("{:x}\r\n", chunk_->size());
      tail_ = over ? "\r\n0\r\n\r\n" : "\r\n";
      buffers = {asio::buffer(out_), asio::buffer(*chunk_), asio::buffer(tail_)};
    } else {
      out_ = "0\r\n\r\n";
      buffers = {asio::buffer(out_), asio::const_buffer(), asio::const_buffer()};
    }
    writing_ = true;
    server_->account(number_, initial_bytes() + (chunk_ ? chunk_->size() : 0));
    server_->make_room(number_);
    arm(server_->options().write_limit);
    asio::async_write(stream_, buffers, guard([this, over](const ErrorCode& error, size_t) {
                        if (error || over) return close();
                        on_written();
                      }));
  }

  template <typename Task>
  auto guard_task(Task task) {
    return [self = this->shared_from_this(), task = std::move(task)]() mutable {
      if (!self->closed_ && self->server_ != nullptr) task();
    };
  }

  void on_written() {
    deadline_.cancel();
    writing_ = false;
    chunk_.reset();
    server_->account(number_, initial_bytes());
    pump();
  }

  Stream stream_;
  asio::steady_timer deadline_;
  asio::steady_timer watch_timer_;
  asio::steady_timer bookmark_timer_;
  boost::beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::string certificate_user_;
  std::vector<std::string> certificate_groups_;
  std::string out_;
  bool closed_ = false;
  bool keep_alive_ = false;
  bool is_old_ = false;
  bool is_head_ = false;
  bool takes_gzip_ = false;
  std::function<bool(std::string&)> pieces_;
  Duration pause_{0};
  std::unique_ptr<Gzip> gzip_;
  std::shared_ptr<WatchStream> watch_;
  std::shared_ptr<const std::string> chunk_;
  std::string tail_;
  bool writing_ = false;
  bool watch_over_ = false;
  bool bookmark_due_ = false;
  std::array<char, 64> hang_up_byte_{};
};

void Server::accept() {
  acceptor_.async_accept([this](const ErrorCode& error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {
      // Out of descriptors, most likely: let some go before trying again.
      accept_timer_.expires_after(milliseconds(100));
      accept_timer_.async_wait([this](const ErrorCode& cancelled) {
        if (!cancelled) accept();
      });
      return;
    }
    if (connections_.size() < options_.connection_limit) start(std::move(socket));
    accept();
  });
}

void Server::start(tcp::socket socket) {
  ErrorCode ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  uint64_t number = next_number_++;
  if (context_) {
    auto session = std::make_shared<Session<asio::ssl::stream<tcp::socket>>>(
        this, number, std::move(socket), *context_);
    connections_.emplace(number, session);
    session->start();
  } else {
    auto session = std::make_shared<Session<tcp::socket>>(this, number, std::move(socket));
    connections_.emplace(number, session);
    session->start();
  }
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::listen(AsioLoop& loop, Backend& backend,
                                                       Front& front, Authenticator authenticator,
                                                       HttpOptions options) {
  auto server =
      std::make_unique<Server>(loop, backend, front, std::move(authenticator), std::move(options));
  LOCKSTEP_CHECK(server->begin());
  return server;
}

}  // namespace lockstep::apiserver
