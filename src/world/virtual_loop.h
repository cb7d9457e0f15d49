// The Loop of simulations and tests: time moves only when there is nothing left to do at this
// instant. Events that are due at the same instant run in an order drawn from the seed, so that a
// bug that needs an unlucky order is found.
#pragma once

#include <cstdint>
#include <functional>

#include "world/loop.h"
#include "world/random.h"
#include "world/timer_queue.h"

namespace lockstep {

class VirtualLoop final : public Loop {
 public:
  // The destructor destroys what is pending; nothing of it runs.
  explicit VirtualLoop(uint64_t seed, Time start = Time::from_unix(1'767'225'600));  // 2026-01-01
  ~VirtualLoop() override;
  VirtualLoop(const VirtualLoop&) = delete;
  VirtualLoop& operator=(const VirtualLoop&) = delete;

  Time now() const override;
  Duration uptime() const override;
  void post(std::function<void()> task) override;
  TimerId after(Duration delay, std::function<void()> task) override;
  void cancel(TimerId timer) override;

  // Runs the next event; false if the queue is empty.
  bool step();
  // Runs the events of this length of time, then lets the rest of it pass. Returns how many ran.
  // For Duration::max() time stops at the last event.
  size_t run_for(Duration length);
  // Until the predicate holds (true), or nothing is left or the limit is reached (false).
  bool run_until(const std::function<bool()>& done, Duration limit);
  // Moves the wall clock, not the timers.
  void step_clock(Duration by);
  size_t pending() const;

 private:
  Time start_;
  Duration uptime_{0};
  Duration clock_offset_{0};
  SeededRandom random_;
  TimerQueue queue_;
};

}  // namespace lockstep
