// The sockets of the dashboard: HTTP/1.1 on the process's own EventLoop, one request a connection,
// and streams of events that live as long as their page. Everything is bounded: requests, answers
// that wait, connections, also of one client's address; a page that does not take its events is
// closed and comes back. Where there are too many, those that ask nothing go first, and then new
// ones are refused: pages that are open stay.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "controller/listening_socket.h"
#include "dashboard/event_ring.h"
#include "dashboard/page_request.h"
#include "world/descriptor.h"
#include "world/event_loop.h"
#include "world/log.h"

namespace lockstep::dashboard {

struct PageServerOptions {
  size_t head_bytes = 16 * 1024;
  size_t body_bytes = 16 * 1024;
  size_t connections = 1024;
  size_t connections_per_address = 512;
  Duration request_limit = seconds(10);  // to send a request, or to take a piece of an answer
  Duration answer_limit = seconds(60);   // for us to find the answer
  Duration heartbeat = seconds(15);      // of streams, so that a page notices that we are gone
};

class PageServer {
 public:
  using Respond = std::function<void(PageAnswer)>;
  // Answers now or later; once.
  using Handler = std::function<void(const PageRequest&, Respond)>;

  static Result<std::unique_ptr<PageServer>> listen(EventLoop& loop, Log& log,
                                                    const std::string& address,
                                                    const EventRing& events, Handler handler,
                                                    PageServerOptions options = {});
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  uint16_t port() const { return acceptor_.port(); }
  bool loopback() const { return acceptor_.loopback(); }
  size_t connections() const { return connections_.size(); }
  size_t streams() const { return streams_; }
  // New events are in the ring.
  void wake();

  // The path under which events are streamed: what came after the number in the header
  // Last-Event-ID or in the query's "after".
  static constexpr std::string_view events_path = "/api/events";

 private:
  struct Connection {
    Descriptor socket;
    std::string address;  // of the client, without its port
    std::string input;
    PageRequest request;
    bool has_head = false;
    bool answering = false;  // the request is whole
    bool streaming = false;
    bool ending = false;  // all is sent; see controller/status_server.h
    std::string output;
    EventRing::Text event;  // what is on its way of a stream
    size_t sent = 0;
    bool blocked = false;
    uint64_t position = 0;  // the last event that was sent
    bool reset = false;     // it is to be told to begin anew
    TimerId timer = 0;
  };
  using Connections = std::map<uint64_t, Connection>;

  PageServer(EventLoop& loop, Log& log, Descriptor socket, const EventRing& events, Handler handler,
             PageServerOptions options);
  void begin(Descriptor socket);
  // Makes room for one more of this address; false: all are in use.
  bool make_room(const std::string& address);
  // Closes the oldest that asks nothing, of one address or (empty) of any.
  bool close_idle(const std::string& address);
  void on_ready(uint64_t number);
  bool receive(Connection& connection);
  void read_request(uint64_t number, Connection& connection);
  void answer(uint64_t number, PageAnswer answer);
  void begin_stream(uint64_t number, Connection& connection);
  bool pump(uint64_t number, Connection& connection);
  bool send(uint64_t number, Connection& connection);
  bool write_some(Connection& connection, std::string_view text, bool& blocked);
  void wait_for(uint64_t number, const Connection& connection, bool write);
  void arm(uint64_t number, Connection& connection, Duration limit);
  void beat();
  void close(uint64_t number);

  EventLoop& loop_;
  const EventRing& events_;
  Handler handler_;
  PageServerOptions options_;
  Connections connections_;  // by number, the oldest first
  std::map<std::string, size_t> by_address_;
  uint64_t next_number_ = 1;
  size_t streams_ = 0;
  Scope scope_;
  // The last: it calls us.
  controller::Acceptor acceptor_;
};

}  // namespace lockstep::dashboard
