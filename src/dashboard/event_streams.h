// Server-sent events for the pages that listen: each is a position in the EventRing. A page that
// was away continues after the event that it saw last, or must begin again when that is no longer
// held.
#pragma once

#include <memory>
#include <set>
#include <string_view>

#include "base/time.h"
#include "dashboard/event_ring.h"
#include "http/message.h"
#include "world/loop.h"

namespace lockstep::dashboard {

class EventStreams {
 public:
  // `heartbeat`: how often a stream says something, so that a page notices that we are gone.
  EventStreams(Loop& loop, const EventRing& events, Duration heartbeat);
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;

  // What came after the event in the header Last-Event-ID, or in the query's "after". Its streams
  // must not outlive us.
  http::Answer open(const http::Request& request);
  // New events are in the ring.
  void wake();

 private:
  class One;
  void beat();

  Loop& loop_;
  const EventRing& events_;
  Duration heartbeat_;
  std::set<One*> streams_;
  Scope scope_;
};

}  // namespace lockstep::dashboard
