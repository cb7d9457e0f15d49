// The Loop of real time: epoll, timers, and file descriptors. One thread runs it; only
// post_from_thread() and stop() may be called from others. What a callback throws leaves run(),
// which can then be called again and goes on with the rest.
#pragma once

#include <functional>
#include <memory>

#include "world/loop.h"

namespace lockstep {

// The machine's wall clock, for the parts that have no loop.
Time system_time();

class EventLoop final : public Loop {
 public:
  EventLoop();
  ~EventLoop() override;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  Time now() const override;
  Duration uptime() const override;
  void post(std::function<void()> task) override;
  TimerId after(Duration delay, std::function<void()> task) override;
  void cancel(TimerId timer) override;

  // From any thread. The loop must outlive the call.
  void post_from_thread(std::function<void()> task);

  struct Readiness {
    bool readable = false;
    bool writable = false;
    bool error = false;
  };
  // One watcher per descriptor; calling again replaces interest and callback. Called as long as it
  // is ready, not only when it becomes so. When the other side is gone, what was asked for is
  // ready: the read or write then says so. Throws for what cannot be watched, such as a plain file.
  void watch_descriptor(int descriptor, bool read, bool write,
                        std::function<void(Readiness)> callback);
  // Before the descriptor is closed. Harmless when it is not watched.
  void unwatch_descriptor(int descriptor);

  // Until stop(), or indefinitely. Returns at once when stop() came before.
  void run();
  // Until the predicate holds (true), or the time is over or stop() was called (false).
  bool run_until(const std::function<bool()>& done, Duration limit);
  // From any thread, or from a signal handler that holds the loop.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep
