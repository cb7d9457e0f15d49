// The loop of a machine whose wall clock is not that of the others: everything is the inner loop's,
// but now() is shifted, and may be set while it runs.
#pragma once

#include <functional>
#include <utility>

#include "world/loop.h"

namespace lockstep::sim {

class ShiftedLoop final : public Loop {
 public:
  explicit ShiftedLoop(Loop& inner) : inner_(inner) {}

  Time now() const override { return inner_.now() + shift_; }
  Duration uptime() const override { return inner_.uptime(); }
  void post(std::function<void()> task) override { inner_.post(std::move(task)); }
  TimerId after(Duration delay, std::function<void()> task) override {
    return inner_.after(delay, std::move(task));
  }
  void cancel(TimerId timer) override { inner_.cancel(timer); }

  void step_clock(Duration by) { shift_ += by; }
  Duration shift() const { return shift_; }

 private:
  Loop& inner_;
  Duration shift_{0};
};

}  // namespace lockstep::sim
