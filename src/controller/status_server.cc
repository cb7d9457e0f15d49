#include "controller/status_server.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string_view>
#include <sys/socket.h>
#include <utility>

#include <fmt/format.h>

#include "controller/http_request_head.h"
#include "controller/listening_socket.h"

namespace lockstep::controller {

namespace {

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

}  // namespace

Result<std::unique_ptr<StatusServer>> StatusServer::listen(EventLoop& loop, Log& log,
                                                           const std::string& address,
                                                           Handlers handlers,
                                                           StatusServerOptions options) {
  LOCKSTEP_TRY(Descriptor socket, listen_at(address));
  return std::unique_ptr<StatusServer>(
      new StatusServer(loop, log, std::move(socket), std::move(handlers), options));
}

StatusServer::StatusServer(EventLoop& loop, Log& log, Descriptor socket, Handlers handlers,
                           StatusServerOptions options)
    : loop_(loop),
      log_(log),
      handlers_(std::move(handlers)),
      options_(options),
      acceptor_(loop, log, std::move(socket), "status connections",
                [this](Descriptor guest) { begin(std::move(guest)); }) {}

StatusServer::~StatusServer() {
  while (!connections_.empty()) close(connections_.begin()->first);
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
