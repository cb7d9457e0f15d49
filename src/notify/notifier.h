// Notifies users by a webhook. It never blocks, never fails its caller, and never grows: it drops
// and counts what is too much, retries deliveries with growing pauses, and sends the same notice
// once.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "kube/backoff.h"
#include "notify/notice.h"
#include "world/log.h"
#include "world/loop.h"
#include "world/random.h"

namespace lockstep::notify {

class Sender {
 public:
  virtual ~Sender() = default;
  // Calls back later, once. An error of kind `invalid` will not be better another time.
  virtual void send(std::string body, std::function<void(Result<void>)> done) = 0;
};

struct NotifierOptions {
  Form form = Form::json;
  std::string cluster;
  size_t queue_limit = 256;
  uint32_t tries = 10;  // of one notice
  kube::BackoffPolicy backoff{seconds(1), minutes(5), 2.0, 0.5};
  Duration same_within = hours(1);
};

struct NotifierCounts {
  uint64_t sent = 0;
  uint64_t repeated = 0;  // the same news again: not sent
  uint64_t overflow = 0;  // too many waited: the oldest was dropped
  uint64_t gave_up = 0;   // refused, or no success in all tries
  uint64_t retries = 0;
};

class Notifier {
 public:
  Notifier(Sender& sender, Loop& loop, Random& random, Log& log, NotifierOptions options);
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void notify(Notice notice);
  // Nothing waits and nothing is on its way.
  bool idle() const { return waiting_.empty() && !sending_; }
  const NotifierCounts& counts() const { return counts_; }

 private:
  bool is_repeated(const Notice& notice);
  void send_next();
  void on_sent(Result<void> sent);

  Sender& sender_;
  Loop& loop_;
  Log& log_;
  NotifierOptions options_;
  kube::Backoff backoff_;
  std::deque<Notice> waiting_;            // the first of them is the one that is being sent
  std::map<std::string, Duration> told_;  // by key: when, by the loop's uptime
  bool sending_ = false;
  NotifierCounts counts_;
  Scope scope_;
};

// As lines of /metrics.
std::string metrics_of(const NotifierCounts& counts);

}  // namespace lockstep::notify
