// The work queue of a controller: keys, not events. A key that is added ten times is worked on
// once; a key that is added while it is being worked on is worked on again afterwards, and never by
// two at a time. Order is that of the first add, so that a run can be repeated.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/time.h"
#include "kube/backoff.h"
#include "world/loop.h"
#include "world/random.h"

namespace lockstep::kube {

struct WorkQueueOptions {
  // How many keys may be in work at once.
  size_t concurrency = 1;
  // The wait of a key that failed, by its own failures.
  BackoffPolicy retry{milliseconds(500), minutes(5), 2.0, 0.2};
};

struct WorkQueueCounts {
  uint64_t added = 0;    // without those that were merged into an earlier one
  uint64_t merged = 0;   // adds of a key that already waited
  uint64_t started = 0;  // keys given to the handler
  uint64_t retried = 0;  // retry() calls
};

class WorkQueue {
 public:
  // Begins to work on a key and calls done(key), at once or later. It may add and retry keys.
  using Handler = std::function<void(const std::string& key)>;

  WorkQueue(Loop& loop, Random& random, WorkQueueOptions options, Handler handler);
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  void add(const std::string& key);
  // The earliest of several delays for a key counts. An add in between does not take the delay
  // away.
  void add_after(const std::string& key, Duration delay);
  // After a failure: adds it again after a delay that grows with each failure until forget().
  void retry(const std::string& key);
  // The same, but not before the server's retry time.
  void retry_at_least(const std::string& key, Duration asked);
  // After success: the next failure counts as the first.
  void forget(const std::string& key) { failures_.erase(key); }
  // The object is gone: takes its delay and its failures away.
  void cancel_delay(const std::string& key);
  void done(const std::string& key);

  // From now on adds are ignored and nothing new is started; what is in work goes on until done().
  void shut_down();
  bool shutting_down() const { return shut_down_; }

  size_t depth() const { return ready_.size(); }
  size_t delayed() const { return delays_.size(); }
  size_t in_work() const { return processing_.size(); }
  uint32_t failures(const std::string& key) const;
  // Nothing ready and nothing in work; delayed keys may still come.
  bool idle() const { return ready_.empty() && processing_.empty(); }
  // How long the key at the head has been waiting for a free worker.
  Duration oldest_wait() const;
  const WorkQueueCounts& counts() const { return counts_; }

 private:
  struct Ready {
    std::string key;
    Duration since;
  };
  // A delay's place in time; the number keeps equal times in the order of their adds.
  struct Due {
    Duration time;
    uint64_t number;
    auto operator<=>(const Due&) const = default;
  };

  void make_ready(const std::string& key);
  void wake();
  void start_ready();
  void arm_timer();
  void release_due();

  Loop& loop_;
  Random& random_;
  WorkQueueOptions options_;
  Handler handler_;

  std::deque<Ready> ready_;
  std::unordered_set<std::string> dirty_;       // to be worked on: ready, or once more after done()
  std::unordered_set<std::string> processing_;  // in work
  std::unordered_map<std::string, uint32_t> failures_;
  std::map<Due, std::string> due_;
  std::unordered_map<std::string, Due> delays_;
  uint64_t next_number_ = 0;
  TimerId timer_ = 0;
  Duration timer_due_{0};
  bool wake_posted_ = false;
  bool shut_down_ = false;
  WorkQueueCounts counts_;
  Scope scope_;
};

}  // namespace lockstep::kube
