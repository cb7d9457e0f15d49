// The event loop: everything that waits, waits here. EventLoop runs in real time on epoll;
// VirtualLoop runs in virtual time from one seed. Code that is handed a Loop cannot tell which.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/time.h"

namespace lockstep {

using TimerId = uint64_t;  // 0 is not a timer

class Loop {
 public:
  virtual ~Loop() = default;

  // The wall clock: for what is written into objects. It may step.
  virtual Time now() const = 0;
  // Time since the loop began: for measuring and for time-outs. It never steps.
  virtual Duration uptime() const = 0;

  // Runs soon, never before this call returns.
  virtual void post(std::function<void()> task) = 0;
  virtual TimerId after(Duration delay, std::function<void()> task) = 0;
  // Harmless when it already ran, or for 0.
  virtual void cancel(TimerId timer) = 0;
};

// Ties callbacks to the life of their owner: what bind() returns does nothing once the Scope is
// gone. Every component that hands out callbacks has one, as its last member.
class Scope {
 public:
  Scope() : alive_(std::make_shared<char>()) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  template <typename Function>
  auto bind(Function function) const {
    return [alive = std::weak_ptr<char>(alive_),
            function = std::move(function)](auto&&... args) mutable {
      if (alive.lock()) function(std::forward<decltype(args)>(args)...);
    };
  }

  // Everything bound so far does nothing from now on.
  void reset() { alive_ = std::make_shared<char>(); }

 private:
  std::shared_ptr<char> alive_;
};

}  // namespace lockstep
