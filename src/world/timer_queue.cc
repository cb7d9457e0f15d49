#include "world/timer_queue.h"

#include <utility>

namespace lockstep {

TimerId TimerQueue::add(Duration due, uint64_t tie, std::function<void()> task) {
  const Key key{due, tie, next_id_++};
  keys_.emplace(key.id, key);
  tasks_.emplace(key, std::move(task));
  return key.id;
}

void TimerQueue::cancel(TimerId id) {
  const auto found = keys_.find(id);
  if (found == keys_.end()) return;
  // Taken out before it is destroyed: what the task holds may come back to this queue.
  const auto doomed = tasks_.extract(found->second);
  keys_.erase(found);
}

std::optional<Duration> TimerQueue::next_due() const {
  if (tasks_.empty()) return std::nullopt;
  return tasks_.begin()->first.due;
}

std::function<void()> TimerQueue::take_first() {
  auto first = tasks_.extract(tasks_.begin());
  keys_.erase(first.key().id);
  return std::move(first.mapped());
}

void TimerQueue::clear() {
  while (!tasks_.empty()) take_first();
}

Duration due_after(Duration from, Duration delay) {
  if (delay <= Duration::zero()) return from;
  if (delay >= Duration::max() - from) return Duration::max();
  return from + delay;
}

}  // namespace lockstep
