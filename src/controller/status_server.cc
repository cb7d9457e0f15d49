#include "controller/status_server.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <netdb.h>
#include <netinet/in.h>
#include <string_view>
#include <sys/socket.h>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "controller/http_request_head.h"

namespace lockstep::controller {

namespace {

constexpr Duration pause_without_descriptors = seconds(1);

std::string_view phrase_of(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Status";
  }
}

StatusAnswer plain(int code) {
  StatusAnswer answer;
  answer.code = code;
  answer.body = fmt::format("{}\n", phrase_of(code));
  return answer;
}

std::string print(const StatusAnswer& answer, std::string_view extra, bool with_body) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n{}",
      answer.code, phrase_of(answer.code), answer.content_type, answer.body.size(), extra,
      with_body ? std::string_view(answer.body) : std::string_view());
}

Error cannot_listen(const std::string& address, std::string_view why) {
  return Error{ErrorKind::invalid,
               fmt::format("cannot listen on \"{}\": {}; an address is written as 127.0.0.1:8080, "
                           "[::1]:8080 or :8080",
                           address, why),
               ""};
}

uint16_t port_of(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

Descriptor bound_socket(const addrinfo& place, int& error) {
  Descriptor socket(::socket(place.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  auto give_up = [&] {
    error = errno;
    return Descriptor();
  };
  if (!socket) return give_up();
  int on = 1;
  int off = 0;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (place.ai_family == AF_INET6) {
    setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (bind(socket.get(), place.ai_addr, place.ai_addrlen) != 0) return give_up();
  if (::listen(socket.get(), SOMAXCONN) != 0) return give_up();
  return socket;
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

Result<Descriptor> listen_on(const std::string& address) {
  size_t colon = address.rfind(':');
  if (colon == std::string::npos) return fail(cannot_listen(address, "it has no port"));
  std::string host = address.substr(0, colon);
  std::string port = address.substr(colon + 1);
  auto number = parse_unsigned(port);
  if (!number || *number > 65535) return fail(cannot_listen(address, "its port is no port"));
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* raw = nullptr;
  // All addresses means IPv6's, which take IPv4's in too.
  if (host.empty()) host = "::";
  int code = getaddrinfo(host.c_str(), port.c_str(), &hints, &raw);
  std::unique_ptr<addrinfo, FreeAddresses> places(raw);
  if (code != 0) return fail(cannot_listen(address, gai_strerror(code)));
  int error = 0;
  for (const addrinfo* place = places.get(); place != nullptr; place = place->ai_next) {
    Descriptor socket = bound_socket(*place, error);
    if (socket) return socket;
  }
  return fail(cannot_listen(address, std::strerror(error)));
}

}  // namespace

Result<std::unique_ptr<StatusServer>> StatusServer::listen(EventLoop& loop, Log& log,
                                                           const std::string& address,
                                                           Handlers handlers,
                                                           StatusServerOptions options) {
  auto socket = listen_on(address);
  // A machine without IPv6.
  if (!socket && address.substr(0, 1) == ":") socket = listen_on("0.0.0.0" + address);
  if (!socket) return fail(std::move(socket).error());
  uint16_t port = port_of(socket->get());
  return std::unique_ptr<StatusServer>(
      new StatusServer(loop, log, std::move(*socket), port, std::move(handlers), options));
}

StatusServer::StatusServer(EventLoop& loop, Log& log, Descriptor socket, uint16_t port,
                           Handlers handlers, StatusServerOptions options)
    : loop_(loop),
      log_(log),
      listener_(std::move(socket)),
      port_(port),
      handlers_(std::move(handlers)),
      options_(options) {
  watch_listener();
}

StatusServer::~StatusServer() {
  loop_.unwatch_descriptor(listener_.get());
  while (!connections_.empty()) close(connections_.begin()->first);
}

void StatusServer::watch_listener() {
  loop_.watch_descriptor(listener_.get(), true, false,
                         scope_.bind([this](EventLoop::Readiness) { accept_all(); }));
}

void StatusServer::accept_all() {
  while (true) {
    Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      begin(std::move(socket));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    // No descriptors left, say: the client stays in line, and asking at once again would only spin.
    log_.warning("status connections cannot be accepted", {{"error", std::strerror(errno)}});
    loop_.unwatch_descriptor(listener_.get());
    loop_.after(pause_without_descriptors, scope_.bind([this] { watch_listener(); }));
    return;
  }
}

void StatusServer::begin(Descriptor socket) {
  if (connections_.size() >= options_.connections) close(connections_.begin()->first);
  uint64_t number = next_number_++;
  Connection& connection = connections_[number];
  connection.socket = std::move(socket);
  connection.timer =
      loop_.after(options_.time_limit, scope_.bind([this, number] { close(number); }));
  watch(number, connection, false);
}

void StatusServer::watch(uint64_t number, const Connection& connection, bool write) {
  loop_.watch_descriptor(connection.socket.get(), !write, write,
                         scope_.bind([this, number](EventLoop::Readiness) { on_ready(number); }));
}

void StatusServer::close(uint64_t number) {
  auto at = connections_.find(number);
  if (at == connections_.end()) return;
  loop_.cancel(at->second.timer);
  loop_.unwatch_descriptor(at->second.socket.get());
  connections_.erase(at);
}

void StatusServer::on_ready(uint64_t number) {
  auto at = connections_.find(number);
  if (at == connections_.end()) return;
  Connection& connection = at->second;
  if (!connection.answered || connection.ending) {
    if (!receive(connection)) return close(number);
    if (!connection.answered) return;
  }
  if (!connection.ending && !send(number, connection)) close(number);
}

// False: the client is gone.
bool StatusServer::receive(Connection& connection) {
  std::array<char, 4096> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): recv fills it
  ssize_t size = recv(connection.socket.get(), buffer.data(), buffer.size(), 0);
  if (size == 0) return false;
  if (size < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  if (connection.ending) return true;
  connection.input.append(buffer.data(), static_cast<size_t>(size));
  answer(connection);
  return true;
}

void StatusServer::answer(Connection& connection) {
  auto end = end_of_head(connection.input);
  if (end.value_or(connection.input.size()) > options_.request_bytes) {
    connection.output = print(plain(431), "", true);
  } else if (!end) {
    return;
  } else {
    RequestHead head = parse_request_head(std::string_view(connection.input).substr(0, *end));
    std::string extra;
    StatusAnswer answer =
        head.refusal != 0 ? plain(head.refusal) : respond(head.method, head.path, extra);
    connection.output = print(answer, extra, head.method != "HEAD");
  }
  connection.answered = true;
  connection.input.clear();
}

StatusAnswer StatusServer::respond(const std::string& method, const std::string& path,
                                   std::string& extra) {
  auto handler = handlers_.find(path);
  if (handler == handlers_.end()) return plain(404);
  if (method != "GET" && method != "HEAD") {
    extra = "Allow: GET, HEAD\r\n";
    return plain(405);
  }
  try {
    return handler->second(path);
  } catch (const std::exception& error) {
    // What a process says about itself must not end it.
    log_.error("a status handler failed", {{"path", path}, {"error", error.what()}});
    return plain(500);
  }
}

// False: the client is gone.
bool StatusServer::send(uint64_t number, Connection& connection) {
  while (connection.sent < connection.output.size()) {
    ssize_t size = ::send(connection.socket.get(), connection.output.data() + connection.sent,
                          connection.output.size() - connection.sent, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      watch(number, connection, true);
      return true;
    }
    if (size < 0) return false;
    connection.sent += static_cast<size_t>(size);
  }
  connection.ending = true;
  connection.output.clear();
  if (shutdown(connection.socket.get(), SHUT_WR) != 0) return false;
  watch(number, connection, false);
  return true;
}

}  // namespace lockstep::controller
