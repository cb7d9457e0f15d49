#include "dashboard/page_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <string_view>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "controller/listening_socket.h"

namespace lockstep::dashboard {

namespace {

// What one turn of the loop reads of a connection, and writes to a stream.
constexpr size_t piece = 16 * 1024;
constexpr int events_a_turn = 64;

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

Result<std::unique_ptr<PageServer>> PageServer::listen(EventLoop& loop, Log& log,
                                                       const std::string& address,
                                                       const EventRing& events, Handler handler,
                                                       PageServerOptions options) {
  LOCKSTEP_TRY(Descriptor socket, controller::listen_at(address));
  return std::unique_ptr<PageServer>(
      new PageServer(loop, log, std::move(socket), events, std::move(handler), options));
}

PageServer::PageServer(EventLoop& loop, Log& log, Descriptor socket, const EventRing& events,
                       Handler handler, PageServerOptions options)
    : loop_(loop),
      events_(events),
      handler_(std::move(handler)),
      options_(options),
      acceptor_(loop, log, std::move(socket), "pages",
                [this](Descriptor guest) { begin(std::move(guest)); }) {
  loop_.after(options_.heartbeat, scope_.bind([this] { beat(); }));
}

PageServer::~PageServer() {
  while (!connections_.empty()) close(connections_.begin()->first);
}

void PageServer::begin(Descriptor socket) {
  std::string address = client_of(socket);
  if (!make_room(address)) return;
  uint64_t number = next_number_++;
  Connection& connection = connections_[number];
  connection.socket = std::move(socket);
  connection.address = std::move(address);
  ++by_address_[connection.address];
  arm(number, connection, options_.request_limit);
  wait_for(number, connection, false);
}

bool PageServer::make_room(const std::string& address) {
  const auto own = by_address_.find(address);
  if (own != by_address_.end() && own->second >= options_.connections_per_address &&
      !close_idle(address)) {
    return false;
  }
  if (connections_.size() < options_.connections || close_idle("")) return true;
  // All are in use: the address with most of them gives one up, unless it is the one that asks.
  const auto most =
      std::max_element(by_address_.begin(), by_address_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == by_address_.end() || most->first == address) return false;
  const auto last = std::find_if(connections_.rbegin(), connections_.rend(), [&](const auto& each) {
    return each.second.address == most->first;
  });
  if (last == connections_.rend()) return false;
  close(last->first);
  return true;
}

bool PageServer::close_idle(const std::string& address) {
  const auto idle = std::find_if(connections_.begin(), connections_.end(), [&](const auto& each) {
    const Connection& connection = each.second;
    return (!connection.answering || connection.ending) &&
           (address.empty() || connection.address == address);
  });
  if (idle == connections_.end()) return false;
  close(idle->first);
  return true;
}

void PageServer::arm(uint64_t number, Connection& connection, Duration limit) {
  loop_.cancel(connection.timer);
  connection.timer = loop_.after(limit, scope_.bind([this, number] { close(number); }));
}

void PageServer::wait_for(uint64_t number, const Connection& connection, bool write) {
  loop_.watch_descriptor(connection.socket.get(), true, write,
                         scope_.bind([this, number](EventLoop::Readiness) { on_ready(number); }));
}

void PageServer::close(uint64_t number) {
  auto at = connections_.find(number);
  if (at == connections_.end()) return;
  if (at->second.streaming) --streams_;
  const auto counted = by_address_.find(at->second.address);
  if (counted != by_address_.end() && --counted->second == 0) by_address_.erase(counted);
  loop_.cancel(at->second.timer);
  loop_.unwatch_descriptor(at->second.socket.get());
  connections_.erase(at);
}

void PageServer::on_ready(uint64_t number) {
  auto at = connections_.find(number);
  if (at == connections_.end()) return;
  Connection& connection = at->second;
  // Reading also shows that a page has gone away.
  if (!receive(connection)) return close(number);
  if (!connection.answering) {
    // May end the connection, or answer it.
    return read_request(number, connection);
  }
  if (connection.blocked && !send(number, connection)) close(number);
}

// False: the client is gone.
bool PageServer::receive(Connection& connection) {
  std::array<char, piece> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): recv fills it
  ssize_t size = recv(connection.socket.get(), buffer.data(), buffer.size(), 0);
  if (size == 0) return false;
  if (size < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  if (!connection.answering) connection.input.append(buffer.data(), static_cast<size_t>(size));
  return true;
}

void PageServer::read_request(uint64_t number, Connection& connection) {
  auto refuse = [&](int code, std::string_view why) {
    connection.answering = true;
    answer(number, PageAnswer::refuse(code, why));
  };
  if (!connection.has_head) {
    auto end = controller::end_of_head(connection.input);
    if (end.value_or(connection.input.size()) > options_.head_bytes) {
      return refuse(431, "the request's head is too large");
    }
    if (!end) return;
    connection.request.head =
        controller::parse_request_head(std::string_view(connection.input).substr(0, *end));
    connection.input.erase(0, *end);
    connection.has_head = true;
    if (int code = refusal_of(connection.request, loopback()); code != 0) {
      return refuse(code, code == 421 ? "this server answers to localhost only"
                                      : "the request is not allowed as it was sent");
    }
  }
  const controller::RequestHead& head = connection.request.head;
  auto length = parse_unsigned(head.header("content-length"));
  bool has_body = length.value_or(0) > 0;
  if (!head.header("transfer-encoding").empty()) return refuse(411, "say Content-Length");
  if (has_body && *length > options_.body_bytes) return refuse(413, "the request is too large");
  if (has_body && connection.input.size() < *length) return;
  connection.request.body = connection.input.substr(0, length.value_or(0));
  connection.input.clear();
  connection.answering = true;
  if (head.path == events_path && head.method == "GET") return begin_stream(number, connection);
  arm(number, connection, options_.answer_limit);
  // The handler may answer at once, and the connection may then be gone: it gets a copy.
  PageRequest request = std::move(connection.request);
  connection.request = {};
  connection.request.head.method = request.head.method;
  handler_(request,
           scope_.bind([this, number](PageAnswer found) { answer(number, std::move(found)); }));
}

void PageServer::answer(uint64_t number, PageAnswer answer) {
  auto at = connections_.find(number);
  if (at == connections_.end() || !at->second.output.empty()) return;
  Connection& connection = at->second;
  size_t length = answer.body.size();
  connection.output = print_head(answer, &length);
  if (connection.request.head.method != "HEAD") connection.output += answer.body;
  arm(number, connection, options_.request_limit);
  if (!send(number, connection)) close(number);
}

void PageServer::begin_stream(uint64_t number, Connection& connection) {
  std::string seen(connection.request.head.header("last-event-id"));
  if (seen.empty()) seen = connection.request.parameter("after");
  auto position = events_.number_of(seen);
  connection.reset = !position || !events_.holds_after(*position);
  connection.position = connection.reset ? events_.last() : *position;
  connection.streaming = true;
  ++streams_;
  PageAnswer head;
  head.content_type = "text/event-stream";
  connection.output = print_head(head, nullptr) + "retry: 1000\n\n";
  loop_.cancel(connection.timer);
  connection.timer = 0;
  if (!send(number, connection)) close(number);
}

void PageServer::wake() {
  std::vector<uint64_t> numbers;
  for (const auto& [number, connection] : connections_) {
    if (connection.streaming && !connection.blocked) numbers.push_back(number);
  }
  for (uint64_t number : numbers) {
    auto at = connections_.find(number);
    if (at != connections_.end() && !pump(number, at->second)) close(number);
  }
}

void PageServer::beat() {
  loop_.after(options_.heartbeat, scope_.bind([this] { beat(); }));
  for (auto& [number, connection] : connections_) {
    if (connection.streaming && !connection.blocked) connection.output = ":\n\n";
  }
  wake();
}

// Sends what the ring has for this stream. False: the client is gone.
bool PageServer::pump(uint64_t number, Connection& connection) {
  for (int turn = 0; turn < events_a_turn; ++turn) {
    if (connection.output.empty() && !connection.event) {
      if (!connection.reset && !events_.holds_after(connection.position)) connection.reset = true;
      if (connection.reset) {
        connection.reset = false;
        connection.position = events_.last();
        connection.event = EventRing::reset();
      } else {
        connection.event = events_.after(connection.position);
        if (connection.event) ++connection.position;
      }
    }
    bool blocked = false;
    std::string_view text = connection.event ? std::string_view(*connection.event)
                                             : std::string_view(connection.output);
    if (!connection.output.empty()) text = connection.output;
    if (text.empty()) break;
    if (!write_some(connection, text, blocked)) return false;
    if (blocked) {
      if (connection.blocked) return true;
      connection.blocked = true;
      arm(number, connection, options_.request_limit);
      wait_for(number, connection, true);
      return true;
    }
    connection.sent = 0;
    if (!connection.output.empty()) {
      connection.output.clear();
    } else {
      connection.event.reset();
    }
  }
  if (connection.blocked) {
    connection.blocked = false;
    loop_.cancel(connection.timer);
    connection.timer = 0;
    wait_for(number, connection, false);
  }
  if (events_.last() > connection.position) loop_.post(scope_.bind([this] { wake(); }));
  return true;
}

// False: the client is gone. `blocked`: it takes no more for now.
bool PageServer::write_some(Connection& connection, std::string_view text, bool& blocked) {
  while (connection.sent < text.size()) {
    ssize_t size = ::send(connection.socket.get(), text.data() + connection.sent,
                          text.size() - connection.sent, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      blocked = true;
      return true;
    }
    if (size < 0) return false;
    connection.sent += static_cast<size_t>(size);
  }
  return true;
}

// False: the client is gone.
bool PageServer::send(uint64_t number, Connection& connection) {
  if (connection.streaming) return pump(number, connection);
  if (connection.ending) return true;
  bool blocked = false;
  if (!write_some(connection, connection.output, blocked)) return false;
  if (blocked) {
    connection.blocked = true;
    wait_for(number, connection, true);
    return true;
  }
  connection.blocked = false;
  connection.ending = true;
  // What the client still says is read and thrown away: closing with unread data would reset the
  // connection and take the answer away from it.
  if (shutdown(connection.socket.get(), SHUT_WR) != 0) return false;
  wait_for(number, connection, false);
  return true;
}

}  // namespace lockstep::dashboard
