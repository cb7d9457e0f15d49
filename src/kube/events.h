// Writes events on objects, for users who read kubectl describe. It never blocks, never fails its
// caller, and never grows: what is too much is dropped and counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/time.h"
#include "kube/api.h"
#include "kube/event_correlator.h"
#include "kube/queue.h"
#include "objects/event.h"
#include "world/log.h"
#include "world/loop.h"
#include "world/random.h"

namespace lockstep::kube {

enum class EventType { normal, warning };

struct EventRecorderOptions {
  std::string component = "lockstep";
  std::string instance;  // the pod's or host's name
  EventLimits limits;
  size_t pending = 1000;   // events that wait to be written; with Warnings twice as many
  size_t concurrency = 4;  // writes at a time
  uint32_t tries = 12;     // of one event
};

struct EventCounts {
  uint64_t recorded = 0;  // calls of record()
  uint64_t created = 0;
  uint64_t patched = 0;
  // Dropped:
  uint64_t limited = 0;   // too many on one object
  uint64_t overflow = 0;  // too many waiting
  uint64_t rejected = 0;  // the server did not want it: its namespace goes away, we may not, …
  uint64_t gave_up = 0;   // no success in all tries

  uint64_t dropped() const { return limited + overflow + rejected + gave_up; }
};

class EventRecorder {
 public:
  EventRecorder(Api& api, Loop& loop, Random& random, Log& log, EventRecorderOptions options);
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  void record(const ObjectReference& about, EventType type, std::string_view reason,
              std::string_view message);

  // Nothing waits to be written: a process that ends runs its loop until then, for a moment.
  bool idle() const { return pending_.empty(); }
  const EventCounts& counts() const { return counts_; }

 private:
  struct Pending {
    Event event;          // as it will be stored in the cluster
    bool exists = false;  // is there already: patch it
    bool unsure = false;  // a create whose answer was lost may have been done
    uint32_t tries = 0;
  };

  void write(const std::string& key);
  void on_written(const std::string& key, int32_t count, Reply reply);
  void on_success(const std::string& key, int32_t count);
  void on_refused(const std::string& key, const Response& response);
  void try_again(const std::string& key, Duration asked);
  void rename(Event& event);

  Api& api_;
  Loop& loop_;
  Log& log_;
  EventRecorderOptions options_;
  EventCorrelator correlator_;
  // Events that the cluster already has, so that the same event becomes a patch.
  RecentMap<Event> written_;
  std::unordered_map<std::string, Pending> pending_;
  Time last_name_;
  EventCounts counts_;
  WorkQueue queue_;
  Scope scope_;
};

}  // namespace lockstep::kube
