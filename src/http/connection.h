// One connection of the server, from its first byte to its end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data/gzip.h"
#include "http/message.h"
#include "http/outgoing.h"
#include "http/request_parser.h"
#include "http/server.h"
#include "http/tls.h"
#include "world/descriptor.h"
#include "world/event_loop.h"

namespace lockstep::http {

// What a connection needs of its server.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;
  virtual EventLoop& loop() = 0;
  virtual Log& log() = 0;
  virtual const ServerOptions& options() const = 0;
  virtual const Server::Handler& handler() const = 0;
  // Our time as HTTP says it.
  virtual const std::string& date() = 0;
  // A place to read into; only until the next call of anything.
  virtual std::array<char, 64 << 10>& buffer() = 0;
  // A stream began or ended.
  virtual void count_stream(int change) = 0;
  // This much waits in the stream of that connection, in the place of what was said before. May
  // close other connections.
  virtual void account(uint64_t number, size_t bytes) = 0;
  // It is closed.
  virtual void forget(uint64_t number) = 0;
};

class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  Connection(ConnectionHost& host, uint64_t number, Descriptor socket, std::string address,
             const TlsContext* tls);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start();
  // At once, whatever is on its way. Nothing of it calls the host any more.
  void close();
  // The client's, without its port.
  const std::string& address() const { return address_; }
  // Nothing is lost with it: no request is being answered.
  bool is_idle() const;
  // It has its answer and does not take it.
  bool is_stuck() const;

 private:
  enum class Phase {
    handshake,
    reading,    // of a request, or waiting for one
    answering,  // the handler has it
    writing,    // the answer
    pausing,    // between two pieces of it
    streaming,
    // All is sent; what the client still says is read and thrown away, because closing with unread
    // data would reset the connection and take the answer away from the client.
    ending,
    closed,
  };

  void on_ready(EventLoop::Readiness ready);
  void shake_hands();
  void receive();
  void take(std::string_view text);
  void keep(std::string_view text);
  void go_on();
  void on_end_of_input();
  void refuse(int code, std::string_view why);
  void handle(Request request);

  void answer(uint64_t request, Answer answer);
  void begin_answer(Answer answer);
  std::string head_of(const Answer& answer, bool has_gzip, std::optional<size_t> length) const;
  void begin_chunk(size_t size, bool is_last);
  // Goes on with writing.
  void flush();
  void on_written();
  void next_piece();
  void finish();
  void end();

  void begin_stream(Answer answer);
  void pump();
  void account(size_t bytes);

  void wait_for(bool read, bool write);
  void update_interest();
  void arm(Duration limit);
  void disarm() { deadline_ = Duration::max(); }
  void set_timer(Duration due);
  template <typename Task>
  auto guard(Task task);

  ConnectionHost& host_;
  const uint64_t number_;
  Descriptor socket_;
  const std::string address_;
  std::unique_ptr<TlsSession> tls_;
  std::shared_ptr<const ClientCertificate> certificate_;
  Phase phase_;

  RequestParser parser_;
  std::string input_;  // what came and was not read yet
  bool taking_ = false;
  bool input_ended_ = false;
  uint64_t request_ = 0;  // the number of the one that is answered
  bool keep_alive_ = false;
  bool is_http_1_0_ = false;
  bool is_head_ = false;
  bool accepts_gzip_ = false;

  Outgoing out_;
  bool is_blocked_ = false;  // the client takes no more for now
  std::function<bool(std::string&)> more_;
  Duration pause_{0};
  std::unique_ptr<Gzip> gzip_;
  std::shared_ptr<Stream> stream_;
  bool is_last_ = false;
  size_t accounted_ = 0;

  bool reads_ = false;   // what the loop
  bool writes_ = false;  // watches for
  Duration deadline_ = Duration::max();
  TimerId timer_ = 0;
  Duration timer_due_ = Duration::max();
};

}  // namespace lockstep::http
