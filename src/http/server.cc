#include "http/server.h"

#include <algorithm>
#include <map>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <utility>

#include <fmt/format.h>

#include "http/backlog.h"
#include "http/connection.h"
#include "http/listening_socket.h"

namespace lockstep::http {

namespace {

// The client's address without its port. Of IPv6 the network: one client has all of it.
std::string client_of(const Descriptor& socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getpeername(socket.get(), reinterpret_cast<sockaddr*>(&storage), &size) != 0) return "?";
  if (storage.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage);
    return fmt::format("{:08x}", ntohl(v4->sin_addr.s_addr));
  }
  if (storage.ss_family != AF_INET6) return "?";
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&storage);
  const unsigned char* bytes = v6->sin6_addr.s6_addr;
  const bool is_mapped = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
  std::string text;
  for (int i = is_mapped ? 12 : 0; i < (is_mapped ? 16 : 8); ++i) {
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

}  // namespace

class Server::Impl final : public ConnectionHost {
 public:
  Impl(EventLoop& loop, Log& log, Descriptor socket, Handler handler, ServerOptions options,
       std::unique_ptr<TlsContext> tls)
      : loop_(loop),
        log_(log),
        handler_(std::move(handler)),
        options_(std::move(options)),
        tls_(std::move(tls)),
        acceptor_(loop, log, std::move(socket), "connections",
                  [this](Descriptor guest) { begin(std::move(guest)); }) {}
  ~Impl() override { drop(); }

  EventLoop& loop() override { return loop_; }
  Log& log() override { return log_; }
  const ServerOptions& options() const override { return options_; }
  const Handler& handler() const override { return handler_; }
  std::array<char, 64 << 10>& buffer() override { return *buffer_; }
  void count_stream(int change) override { streams_ += static_cast<size_t>(change); }

  const std::string& date() override {
    const int64_t second = loop_.now().unix_seconds();
    if (second != date_second_) {
      date_second_ = second;
      date_ = http_date(second);
    }
    return date_;
  }

  void account(uint64_t number, size_t bytes) override {
    backlog_.set(number, bytes);
    while (bytes > 0 && backlog_.bytes() > options_.stream_bytes) {
      const auto slowest = backlog_.slowest_but(number);
      const auto found = slowest ? connections_.find(*slowest) : connections_.end();
      if (found == connections_.end()) return;
      close(found->second);
    }
  }

  void forget(uint64_t number) override {
    const auto found = connections_.find(number);
    if (found == connections_.end()) return;
    const auto counted = by_address_.find(found->second->address());
    if (counted != by_address_.end() && --counted->second == 0) by_address_.erase(counted);
    connections_.erase(found);
  }

  void drop() {
    while (!connections_.empty()) close(connections_.begin()->second);
  }

  const Acceptor& acceptor() const { return acceptor_; }
  size_t connections() const { return connections_.size(); }
  size_t streams() const { return streams_; }
  size_t stream_bytes() const { return backlog_.bytes(); }

 private:
  using Connections = std::map<uint64_t, std::shared_ptr<Connection>>;

  // By value: closing takes it out of the map.
  static void close(std::shared_ptr<Connection> connection) { connection->close(); }

  void begin(Descriptor socket) {
    std::string address = client_of(socket);
    if (!make_room(address)) return;
    const int on = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const uint64_t number = next_number_++;
    ++by_address_[address];
    const auto connection = std::make_shared<Connection>(*this, number, std::move(socket),
                                                         std::move(address), tls_.get());
    connections_.emplace(number, connection);
    connection->start();
  }

  // Makes room for one more of this address; false: all are in use.
  bool make_room(const std::string& address) {
    const auto own = by_address_.find(address);
    if (options_.connections_per_address > 0 && own != by_address_.end() &&
        own->second >= options_.connections_per_address && !close_unused(address)) {
      return false;
    }
    if (connections_.size() < options_.connections || close_unused("")) return true;
    // All are in use: the address with most of them gives one up, unless it is the one that asks.
    const auto most =
        std::max_element(by_address_.begin(), by_address_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == by_address_.end() || most->first == address) return false;
    const auto last =
        std::find_if(connections_.rbegin(), connections_.rend(),
                     [&](const auto& each) { return each.second->address() == most->first; });
    if (last == connections_.rend()) return false;
    close(last->second);
    return true;
  }

  // Closes the oldest that asks nothing, or else that does not take its answer; of one address, or
  // (empty) of any.
  bool close_unused(const std::string& address) {
    for (const auto is_unused : {&Connection::is_idle, &Connection::is_stuck}) {
      const auto found =
          std::find_if(connections_.begin(), connections_.end(), [&](const auto& each) {
            return (address.empty() || each.second->address() == address) &&
                   (*each.second.*is_unused)();
          });
      if (found == connections_.end()) continue;
      close(found->second);
      return true;
    }
    return false;
  }

  EventLoop& loop_;
  Log& log_;
  Handler handler_;
  ServerOptions options_;
  std::unique_ptr<TlsContext> tls_;
  Connections connections_;  // by number, the oldest first
  std::map<std::string, size_t> by_address_;
  uint64_t next_number_ = 1;
  size_t streams_ = 0;
  Backlog backlog_;
  int64_t date_second_ = -1;
  std::string date_;
  std::unique_ptr<std::array<char, 64 << 10>> buffer_ =
      std::make_unique<std::array<char, 64 << 10>>();
  // The last: it calls us.
  Acceptor acceptor_;
};

Result<std::unique_ptr<Server>> Server::listen(EventLoop& loop, Log& log,
                                               const std::string& address, Handler handler,
                                               ServerOptions options) {
  std::unique_ptr<TlsContext> tls;
  if (options.tls) {
    LOCKSTEP_TRY(tls, TlsContext::create(*options.tls));
  }
  LOCKSTEP_TRY(Descriptor socket, listen_at(address));
  return std::unique_ptr<Server>(new Server(std::make_unique<Impl>(
      loop, log, std::move(socket), std::move(handler), std::move(options), std::move(tls))));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

uint16_t Server::port() const { return impl_->acceptor().port(); }
bool Server::is_loopback() const { return impl_->acceptor().loopback(); }
size_t Server::connections() const { return impl_->connections(); }
size_t Server::streams() const { return impl_->streams(); }
size_t Server::stream_bytes() const { return impl_->stream_bytes(); }
void Server::drop_connections() { impl_->drop(); }

}  // namespace lockstep::http
