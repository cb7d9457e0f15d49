// What both loops keep: tasks in the order in which they are due, each of which can be cancelled.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

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

  size_t size() const { return tasks_.size(); }
  // Destroys all tasks, also those that the destructors of others add meanwhile.
  void clear();

 private:
  struct Key {
    Duration due;
    uint64_t tie;
    TimerId id;
    auto operator<=>(const Key&) const = default;
  };
  TimerId next_id_ = 1;
  std::map<Key, std::function<void()>> tasks_;
  std::unordered_map<TimerId, Key> keys_;
};

// `from` plus `delay`, which counts as zero when it is negative; for ever stays for ever.
Duration due_after(Duration from, Duration delay);

}  // namespace lockstep
