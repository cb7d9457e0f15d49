// The Loop of simulations and tests: time moves only when there is nothing left to do at this instant.
// Events that are due at the same instant run in an order drawn from the seed, so that a bug that
// needs an unlucky order is found.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>

#include "world/loop.h"
#include "world/random.h"

namespace lockstep {

class VirtualLoop final : public Loop {
 public:
  explicit VirtualLoop(uint64_t seed, Time start = Time::from_unix(1'767'225'600));  // 2026-01-01

  Time now() const override;
  Duration uptime() const override;
  void post(std::function<void()> task) override;
  TimerId after(Duration delay, std::function<void()> task) override;
  void cancel(TimerId timer) override;

  // Runs the next event; false when there is none.
  bool step();
  // Runs events until none is left or the time is over. Returns how many ran.
  size_t run_for(Duration length);
  // Until the predicate holds (true), or nothing is left or the limit is reached (false).
  bool run_until(const std::function<bool()>& done, Duration limit);
  // Moves the wall clock, not the timers.
  void step_clock(Duration by);
  size_t pending() const;

 private:
  struct Key {
    Duration due;
    uint64_t tie;
    TimerId id;
    auto operator<=>(const Key&) const = default;
  };
  Time start_;
  Duration uptime_{0};
  Duration clock_offset_{0};
  SeededRandom random_;
  TimerId next_id_ = 1;
  std::map<Key, std::function<void()>> queue_;
  std::unordered_map<TimerId, Key> keys_;
};

}  // namespace lockstep
