// What both loops keep: tasks in the order in which they are due, each of which can be cancelled.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "world/loop.h"

namespace lockstep {

class TimerQueue {
 public:
  // Tasks due at the same instant run by rising tie, then in the order in which they were added.
  TimerId add(Duration due, uint64_t tie, std::function<void()> task);
  void cancel(TimerId id);

  std::optional<Duration> next_due() const;
  // Removes the first task and returns it. There must be one.
  std::function<void()> take_first();

  size_t size() const { return size_; }
  // Destroys all tasks, also those that the destructors of others add meanwhile.
  void clear();

 private:
  // A timer's number has its age and, in its last bits, the place of its task.
  struct Key {
    Duration due;
    uint64_t tie;
    TimerId id;
    auto operator<=>(const Key&) const = default;
  };
  struct Slot {
    TimerId id = 0;  // 0: free
    std::function<void()> task;
  };

  bool is_pending(TimerId id) const;
  std::function<void()> empty(TimerId id);
  void drop_first();
  void drop_cancelled();
  void rebuild();

  uint64_t next_age_ = 1;
  size_t size_ = 0;
  // A heap with the earliest first. Cancelled timers stay in it until they come to its top or are
  // too many; the first is never one.
  std::vector<Key> keys_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
};

// `from` plus `delay`, which counts as zero if negative; an infinite delay stays infinite.
Duration due_after(Duration from, Duration delay);

}  // namespace lockstep
