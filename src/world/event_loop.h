// The Loop of real time: epoll, timers, and file descriptors.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "world/loop.h"

namespace lockstep {

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

  // From any thread.
  void post_from_thread(std::function<void()> task);

  struct Readiness {
    bool readable = false;
    bool writable = false;
    bool error = false;
  };
  // One watcher per descriptor; calling again replaces interest and callback.
  void watch_descriptor(int descriptor, bool read, bool write, std::function<void(Readiness)> callback);
  void unwatch_descriptor(int descriptor);

  // Until stop(), or for ever.
  void run();
  // Until the predicate holds (true) or the time is over (false).
  bool run_until(const std::function<bool()>& done, Duration limit);
  // From any thread or signal-safe context that holds the loop.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep
