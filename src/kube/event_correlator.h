// Which events are the same, which are alike, and which are too many: the rules of client-go's
// correlator, so that a node's events read as operators are used to. No clock and no network.
#pragma once

#include <cstdint>
#include <list>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/time.h"
#include "objects/event.h"

namespace lockstep::kube {

// A map that keeps what was used last and forgets the rest.
template <typename Value>
class RecentMap {
 public:
  explicit RecentMap(size_t limit) : limit_(limit) {}

  // Null when it is not there (any more).
  Value* find(const std::string& key) {
    auto at = places_.find(key);
    if (at == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, at->second);
    return &at->second->second;
  }
  Value& put(const std::string& key, Value value) {
    if (Value* held = find(key)) return *held = std::move(value);
    entries_.emplace_front(key, std::move(value));
    places_[key] = entries_.begin();
    if (entries_.size() > limit_) {
      places_.erase(entries_.back().first);
      entries_.pop_back();
    }
    return entries_.front().second;
  }
  void erase(const std::string& key) {
    auto at = places_.find(key);
    if (at == places_.end()) return;
    entries_.erase(at->second);
    places_.erase(at);
  }
  size_t size() const { return entries_.size(); }

 private:
  using Entries = std::list<std::pair<std::string, Value>>;
  size_t limit_;
  Entries entries_;
  std::unordered_map<std::string, typename Entries::iterator> places_;
};

struct EventLimits {
  // Up to this number of different messages of one reason on one object are separate events within
  // the window; further ones are combined into one event.
  size_t similar = 10;
  Duration similar_window = minutes(10);
  // Events of one type on one object: this number at once, then one in each interval. Warnings have
  // a budget of their own, so that Normal events never displace a failure.
  double burst = 25;
  Duration refill = minutes(5);
  size_t remembered = 4096;  // of each kind of memory
  size_t message_bytes = 1024;
};

class EventCorrelator {
 public:
  explicit EventCorrelator(EventLimits limits);

  // True: the event is to be written, under this key: what has the same key is one event with a
  // growing count. Bounds the message, and marks one that was combined from similar ones.
  struct Verdict {
    bool write = false;
    std::string key;
  };
  Verdict judge(Event& event, Duration uptime);

 private:
  struct Similar {
    std::set<std::string> messages;
    Duration last{0};
  };
  struct Bucket {
    double tokens = 0;
    Duration filled{0};
  };
  bool is_combined(const std::string& group, const Event& event, Duration uptime);
  bool take_token(const std::string& budget, Duration uptime);

  EventLimits limits_;
  RecentMap<Similar> similar_;
  RecentMap<Bucket> buckets_;
};

// The text in at most `bytes` bytes of valid UTF-8; a cut is marked by "...".
std::string bounded_message(std::string_view text, size_t bytes);

}  // namespace lockstep::kube
