#include "world/virtual_loop.h"

#include <utility>

namespace lockstep {

VirtualLoop::VirtualLoop(uint64_t seed, Time start) : start_(start), random_(seed) {}

VirtualLoop::~VirtualLoop() { queue_.clear(); }

Time VirtualLoop::now() const { return start_ + uptime_ + clock_offset_; }

Duration VirtualLoop::uptime() const { return uptime_; }

void VirtualLoop::post(std::function<void()> task) { after(Duration::zero(), std::move(task)); }

TimerId VirtualLoop::after(Duration delay, std::function<void()> task) {
  return queue_.add(due_after(uptime_, delay), random_.next(), std::move(task));
}

void VirtualLoop::cancel(TimerId timer) { queue_.cancel(timer); }

bool VirtualLoop::step() {
  const auto due = queue_.next_due();
  if (!due) return false;
  uptime_ = *due;
  queue_.take_first()();
  return true;
}

size_t VirtualLoop::run_for(Duration length) {
  const Duration end = due_after(uptime_, length);
  size_t count = 0;
  for (auto due = queue_.next_due(); due && *due <= end; due = queue_.next_due()) {
    step();
    ++count;
  }
  if (end != Duration::max()) uptime_ = end;
  return count;
}

bool VirtualLoop::run_until(const std::function<bool()>& done, Duration limit) {
  const Duration end = due_after(uptime_, limit);
  while (!done()) {
    const auto due = queue_.next_due();
    if (!due) return false;
    if (*due > end) {
      uptime_ = end;
      return false;
    }
    step();
  }
  return true;
}

void VirtualLoop::step_clock(Duration by) { clock_offset_ += by; }

size_t VirtualLoop::pending() const { return queue_.size(); }

}  // namespace lockstep
