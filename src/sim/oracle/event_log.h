// The last events of a run, to be printed in fixed columns when it fails: when, who, what was done
// to which object, and what changed by it; and the faults in between. Always on: an event costs a
// few pointers, and becomes text only when it is printed.
#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/store/store.h"
#include "fleet/keys.h"
#include "kube/fault_api.h"
#include "sim/actors/cluster.h"

namespace lockstep::sim {

class EventLog {
 public:
  explicit EventLog(Cluster& cluster, size_t size = 50, fleet::Keys keys = fleet::Keys());
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // An event without a change of the store: a fault, a step of the scenario, a crash.
  void note(std::string_view who, std::string_view verb, std::string object, std::string what);

  // Oldest first; a line each, without its end.
  std::vector<std::string> lines() const;
  // A heading and the lines, as one text.
  std::string text() const;

 private:
  struct Entry {
    Duration at{0};
    std::string who;
    std::string_view verb;
    std::string_view subresource;
    const std::string* storage = nullptr;  // null: a note
    apiserver::StoredPtr before;
    apiserver::StoredPtr after;
    bool gone = false;
    std::string object;  // of a note
    std::string what;
  };

  void on_change(const std::string& storage, const apiserver::Change& change);
  void add(Entry entry);

  Cluster& cluster_;
  size_t size_;
  fleet::Keys keys_;
  uint64_t listener_;
  std::set<std::string> names_;  // of storages and verbs, which entries point to
  std::deque<Entry> entries_;
};

// What happened to the object, in a few words; either may be null.
std::string describe_change(std::string_view storage, const Json* before, const Json* after,
                            const fleet::Keys& keys);

// Passes on what another source plans, and writes the faults among it into the log.
class LoggedFaults final : public kube::FaultSource {
 public:
  LoggedFaults(kube::FaultSource& inner, EventLog& log, std::string who)
      : inner_(inner), log_(log), who_(std::move(who)) {}
  kube::CallPlan plan_call(const kube::Request& request) override;
  kube::WatchPlan plan_watch(const kube::WatchRequest& request) override;
  Duration event_delay(const kube::WatchRequest& request) override {
    return inner_.event_delay(request);
  }

 private:
  kube::FaultSource& inner_;
  EventLog& log_;
  std::string who_;
};

}  // namespace lockstep::sim
