// A load generator on plain sockets: a few connections, one thread, nothing parsed that need not
// be.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lockstep::bench {

// A keep-alive HTTP/1.1 connection.
class Connection {
 public:
  explicit Connection(uint16_t port);
  ~Connection();
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&&) = delete;

  void send(const std::string& request) const;
  // Reads what is there; true when a whole answer (by Content-Length, or chunked) has been read.
  bool read_answer();
  // Blocks until a whole answer is there; its size in bytes.
  size_t wait_for_answer();
  // Reads what is there of a stream: the number of lines (watch events) in it.
  size_t read_lines();
  int descriptor() const { return socket_; }
  int code() const { return code_; }

 private:
  int socket_;
  int code_ = 0;
  std::string buffer_;
  size_t total_ = 0;
  char last_ = 0;
};

std::string get_request(uint16_t port, const std::string& target);
std::string patch_request(uint16_t port, const std::string& target, const std::string& body);

// Keeps `connections` busy with requests from `next` until `count` were answered. Seconds it took.
double run_load(uint16_t port, size_t connections, size_t count,
                const std::function<std::string(size_t)>& next);

}  // namespace lockstep::bench
