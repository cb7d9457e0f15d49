// Asks addresses that users name (gates, notifications): one exchange at a time of the same
// question, within a limit.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "http/client.h"
#include "world/event_loop.h"

namespace lockstep::http {

struct Destination {
  Route route;
  std::string target;  // path and query
};
// Of "https://host:port/path?query". `environment`: where a proxy may be named.
Result<Destination> destination_of(const std::string& address, const Environment& environment,
                                   std::shared_ptr<const AddressGuard> guard);

class Asker {
 public:
  Asker(EventLoop& loop, Duration limit) : loop_(loop), limit_(limit), client_(loop) {}

  // `done` once, later: an answer whatever its code, or why it is missing, with the host.
  void ask(const Destination& destination, Exchange exchange,
           std::function<void(Result<Response>)> done);

 private:
  EventLoop& loop_;
  Duration limit_;
  Client client_;
  Scope scope_;
};

}  // namespace lockstep::http
