#include "kube/queue.h"

#include <algorithm>
#include <utility>

namespace lockstep::kube {

WorkQueue::WorkQueue(Loop& loop, Random& random, WorkQueueOptions options, Handler handler)
    : loop_(loop), random_(random), options_(options), handler_(std::move(handler)) {}

WorkQueue::~WorkQueue() { loop_.cancel(timer_); }

void WorkQueue::add(const std::string& key) {
  if (shut_down_) return;
  if (!dirty_.insert(key).second) {
    ++counts_.merged;
    return;
  }
  ++counts_.added;
  if (!processing_.contains(key)) make_ready(key);
}

void WorkQueue::make_ready(const std::string& key) {
  ready_.push_back({key, loop_.uptime()});
  wake();
}

void WorkQueue::add_after(const std::string& key, Duration delay) {
  if (shut_down_) return;
  if (delay <= Duration::zero()) return add(key);
  Due due{loop_.uptime() + std::min(delay, hours(24 * 365)), next_number_++};
  auto [entry, fresh] = delays_.try_emplace(key, due);
  if (!fresh) {
    if (entry->second.time <= due.time) return;
    due_.erase(entry->second);
    entry->second = due;
  }
  due_.emplace(due, key);
  arm_timer();
}

void WorkQueue::retry(const std::string& key) { retry_at_least(key, Duration::zero()); }

void WorkQueue::retry_at_least(const std::string& key, Duration asked) {
  if (shut_down_) return;
  ++counts_.retried;
  uint32_t& failures = failures_[key];
  ++failures;
  Duration delay = std::max(asked, backoff_delay(options_.retry, failures));
  add_after(key, jittered(delay, options_.retry.jitter, random_));
}

void WorkQueue::cancel_delay(const std::string& key) {
  failures_.erase(key);
  auto entry = delays_.find(key);
  if (entry == delays_.end()) return;
  due_.erase(entry->second);
  delays_.erase(entry);
}

void WorkQueue::done(const std::string& key) {
  if (processing_.erase(key) == 0) return;
  if (dirty_.contains(key) && !shut_down_) {
    make_ready(key);
  } else {
    wake();
  }
}

void WorkQueue::shut_down() {
  shut_down_ = true;
  ready_.clear();
  dirty_.clear();
  due_.clear();
  delays_.clear();
  failures_.clear();
  loop_.cancel(timer_);
  timer_ = 0;
}

uint32_t WorkQueue::failures(const std::string& key) const {
  auto entry = failures_.find(key);
  return entry == failures_.end() ? 0 : entry->second;
}

Duration WorkQueue::oldest_wait() const {
  return ready_.empty() ? Duration::zero() : loop_.uptime() - ready_.front().since;
}

void WorkQueue::wake() {
  if (wake_posted_ || ready_.empty() || processing_.size() >= options_.concurrency) return;
  wake_posted_ = true;
  loop_.post(scope_.bind([this] {
    wake_posted_ = false;
    start_ready();
  }));
}

// One key per turn of the loop: a long queue must not keep timers and replies waiting, and a
// handler that destroys the queue leaves nothing behind that would touch it.
void WorkQueue::start_ready() {
  if (ready_.empty() || processing_.size() >= options_.concurrency) return;
  std::string key = std::move(ready_.front().key);
  ready_.pop_front();
  dirty_.erase(key);
  processing_.insert(key);
  ++counts_.started;
  wake();
  handler_(key);
}

void WorkQueue::arm_timer() {
  if (due_.empty()) return;
  Duration next = due_.begin()->first.time;
  if (timer_ != 0 && timer_due_ <= next) return;
  loop_.cancel(timer_);
  timer_due_ = next;
  timer_ = loop_.after(std::max(next - loop_.uptime(), Duration::zero()),
                       scope_.bind([this] { release_due(); }));
}

void WorkQueue::release_due() {
  timer_ = 0;
  while (!due_.empty() && due_.begin()->first.time <= loop_.uptime()) {
    std::string key = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    delays_.erase(key);
    add(key);
  }
  arm_timer();
}

}  // namespace lockstep::kube
