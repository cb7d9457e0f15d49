// A loopback HTTP/1.1 server for tests: every request is answered by a script that decides byte by
// byte what the client gets to see. One thread per connection; every wait is bounded.
#pragma once

#include <arpa/inet.h>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/patience_test_util.h"
#include "base/strings.h"
#include "http/tls_test_util.h"

namespace lockstep::http::testing {

constexpr Duration patience = test_patience;

// Something that one thread waits for and another one lets happen.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // False: it was not opened in time.
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

struct ReceivedRequest {
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;  // names in lower case; values of equal names joined
  std::string body;
  std::string server_name;     // TLS: what the client asked for (SNI)
  std::string client_subject;  // TLS: common name of the client's certificate

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

class ServerConnection {
 public:
  ServerConnection(int descriptor, TlsServer* tls)
      : descriptor_(descriptor), session_(tls ? tls->accept(descriptor) : nullptr) {
    failed_ = tls != nullptr && session_ == nullptr;
  }

  void send(std::string_view bytes) {
    while (!failed_ && !bytes.empty()) {
      const ssize_t size = session_ ? session_->write(bytes)
                                    : ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (size <= 0) {
        failed_ = true;
      } else {
        bytes.remove_prefix(static_cast<size_t>(size));
      }
    }
  }
  // "HTTP/1.1 200 OK" with a length, and more header lines (each with its line break).
  void answer(int code, std::string_view body, std::string_view more_headers = {}) {
    send(fmt::format(
        "HTTP/1.1 {} Whatever\r\nContent-Type: application/json\r\n{}Content-Length: {}\r\n\r\n{}",
        code, more_headers, body.size(), body));
  }
  void begin_stream(int code = 200) {
    send(fmt::format("HTTP/1.1 {} OK\r\nTransfer-Encoding: chunked\r\n\r\n", code));
  }
  void chunk(std::string_view bytes) { send(fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes)); }
  void end_stream() { send("0\r\n\r\n"); }
  // Nothing more on this connection.
  void drop() {
    failed_ = true;
    shutdown(descriptor_, SHUT_RDWR);
  }
  // Until the client has gone; false when it stays.
  bool wait_for_close() {
    std::string ignored;
    while (receive(ignored)) ignored.clear();
    return closed_;
  }

  bool failed() const { return failed_; }
  bool receive(std::string& into) {
    char bytes[4096];
    const ssize_t size = failed_    ? 0
                         : session_ ? session_->read(bytes, sizeof bytes)
                                    : recv(descriptor_, bytes, sizeof bytes, 0);
    if (size <= 0) {
      closed_ = size == 0 || session_ != nullptr || errno == ECONNRESET;
      return false;
    }
    into.append(bytes, static_cast<size_t>(size));
    return true;
  }
  TlsSession* session() { return session_.get(); }

 private:
  int descriptor_;
  std::unique_ptr<TlsSession> session_;
  bool failed_ = false;
  bool closed_ = false;
};

class ScriptedServer {
 public:
  using Script = std::function<void(const ReceivedRequest&, ServerConnection&)>;

  // `greeting` is sent before anything was asked.
  explicit ScriptedServer(Script script, std::unique_ptr<TlsServer> tls = nullptr,
                          std::string greeting = {})
      : script_(std::move(script)), tls_(std::move(tls)), greeting_(std::move(greeting)) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets that the client has closed
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (listener_ < 0 || bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(listener_, 64) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw std::runtime_error("cannot listen on the loopback address");
    }
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }

  ~ScriptedServer() {
    stopping_ = true;
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (int descriptor : descriptors_) shutdown(descriptor, SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
    for (int descriptor : descriptors_) close(descriptor);
    close(listener_);
  }

  int port() const { return port_; }
  std::string url() const {
    return fmt::format("{}://127.0.0.1:{}", tls_ ? "https" : "http", port_);
  }
  std::vector<ReceivedRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  size_t connections() const {
    const std::lock_guard lock(mutex_);
    return descriptors_.size();
  }

 private:
  void accept_all() {
    while (!stopping_) {
      const int descriptor = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (descriptor < 0) return;
      timeval limit{};
      limit.tv_sec = patience.count();
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
      const std::lock_guard lock(mutex_);
      descriptors_.push_back(descriptor);
      threads_.emplace_back([this, descriptor] { serve(descriptor); });
    }
  }

  void serve(int descriptor) {
    {
      ServerConnection connection(descriptor, tls_.get());
      connection.send(greeting_);
      std::string buffer;
      while (!connection.failed()) {
        auto request = read_request(connection, buffer);
        if (!request) break;
        {
          const std::lock_guard lock(mutex_);
          requests_.push_back(*request);
        }
        script_(*request, connection);
      }
    }
    shutdown(descriptor, SHUT_RDWR);
  }

  static std::optional<ReceivedRequest> read_request(ServerConnection& connection,
                                                     std::string& buffer) {
    size_t end;
    while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
      if (!connection.receive(buffer)) return std::nullopt;
    }
    ReceivedRequest request = parse_head(std::string_view(buffer).substr(0, end));
    buffer.erase(0, end + 4);
    const size_t length = parse_unsigned(request.header("content-length")).value_or(0);
    while (buffer.size() < length) {
      if (!connection.receive(buffer)) return std::nullopt;
    }
    request.body = buffer.substr(0, length);
    buffer.erase(0, length);
    if (TlsSession* session = connection.session()) {
      request.server_name = session->server_name();
      request.client_subject = session->client_subject();
    }
    return request;
  }

  static ReceivedRequest parse_head(std::string_view head) {
    ReceivedRequest request;
    const auto lines = split(head, '\n');
    const auto words = split(trim(lines[0]), ' ');
    request.method = words[0];
    if (words.size() > 1) request.target = words[1];
    for (size_t i = 1; i < lines.size(); ++i) {
      const size_t colon = lines[i].find(':');
      if (colon == std::string_view::npos) continue;
      std::string& value = request.headers[lower(trim(lines[i].substr(0, colon)))];
      if (!value.empty()) value += ",";
      value += trim(lines[i].substr(colon + 1));
    }
    return request;
  }

  Script script_;
  std::unique_ptr<TlsServer> tls_;
  std::string greeting_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_;
  std::vector<ReceivedRequest> requests_;
  std::vector<int> descriptors_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace lockstep::http::testing
