#include "world/timer_queue.h"

#include <algorithm>
#include <utility>

namespace lockstep {

namespace {

constexpr int slot_bits = 24;  // sixteen million timers at once, and 2^40 in a life
constexpr uint64_t slot_mask = (uint64_t{1} << slot_bits) - 1;
constexpr size_t fewest_to_rebuild = 64;

size_t slot_of(TimerId id) { return id & slot_mask; }

}  // namespace

TimerId TimerQueue::add(Duration due, uint64_t tie, std::function<void()> task) {
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const TimerId id = (next_age_++ << slot_bits) | free_.back();
  free_.pop_back();
  slots_[slot_of(id)] = Slot{id, std::move(task)};
  keys_.push_back(Key{due, tie, id});
  std::push_heap(keys_.begin(), keys_.end(), std::greater<>());
  ++size_;
  return id;
}

bool TimerQueue::is_pending(TimerId id) const {
  return id != 0 && slot_of(id) < slots_.size() && slots_[slot_of(id)].id == id;
}

std::function<void()> TimerQueue::empty(TimerId id) {
  Slot& slot = slots_[slot_of(id)];
  slot.id = 0;
  free_.push_back(static_cast<uint32_t>(slot_of(id)));
  --size_;
  return std::exchange(slot.task, nullptr);
}

void TimerQueue::cancel(TimerId id) {
  if (!is_pending(id)) return;
  // Taken out before it is destroyed: what the task holds may come back to this queue.
  const auto doomed = empty(id);
  drop_cancelled();
}

void TimerQueue::drop_first() {
  std::pop_heap(keys_.begin(), keys_.end(), std::greater<>());
  keys_.pop_back();
}

void TimerQueue::drop_cancelled() {
  while (!keys_.empty() && !is_pending(keys_.front().id)) drop_first();
  if (keys_.size() > fewest_to_rebuild && keys_.size() > 2 * size_) rebuild();
}

void TimerQueue::rebuild() {
  std::erase_if(keys_, [this](const Key& key) { return !is_pending(key.id); });
  std::make_heap(keys_.begin(), keys_.end(), std::greater<>());
}

std::optional<Duration> TimerQueue::next_due() const {
  if (keys_.empty()) return std::nullopt;
  return keys_.front().due;
}

std::function<void()> TimerQueue::take_first() {
  auto task = empty(keys_.front().id);
  drop_first();
  drop_cancelled();
  return task;
}

void TimerQueue::clear() {
  while (size_ > 0) take_first();
}

Duration due_after(Duration from, Duration delay) {
  if (delay <= Duration::zero()) return from;
  if (delay >= Duration::max() - from) return Duration::max();
  return from + delay;
}

}  // namespace lockstep
