#include "world/event_loop.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <deque>
#include <iterator>
#include <mutex>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>
#include <unordered_map>
#include <utility>

#include "world/timer_queue.h"

namespace lockstep {

namespace {

[[noreturn]] void throw_errno(const char* call) {
  throw std::system_error(errno, std::generic_category(), call);
}

constexpr uint64_t wake_up_mark = ~uint64_t{0};

}  // namespace

struct EventLoop::Impl {
  struct Watcher {
    bool read = false;
    bool write = false;
    // Which registration an event belongs to: after unwatch, or for a descriptor number that was
    // reused, an event of the same batch is stale.
    uint32_t serial = 0;
    bool registered = false;
    // Shared, so that a callback that unwatches itself is not destroyed while it runs.
    std::shared_ptr<std::function<void(Readiness)>> callback;
  };

  Impl() {
    if (epoll < 0) throw_errno("epoll_create1");
    if (wake_up < 0) {
      close(epoll);
      throw_errno("eventfd");
    }
    epoll_event interest{};
    interest.events = EPOLLIN;
    interest.data.u64 = wake_up_mark;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, wake_up, &interest) != 0) {
      close(wake_up);
      close(epoll);
      throw_errno("epoll_ctl");
    }
  }

  ~Impl() {
    close(wake_up);
    close(epoll);
  }

  Duration uptime() const { return std::chrono::steady_clock::now() - began; }

  // Safe in a signal handler.
  void wake() const {
    const int saved = errno;
    const uint64_t one = 1;
    // It fails only when the counter is full, and then the loop wakes up anyway.
    [[maybe_unused]] const ssize_t written = write(wake_up, &one, sizeof one);
    errno = saved;
  }

  // Only what is there at the beginning: tasks that post again must not keep the others waiting.
  void run_posted() {
    std::deque<std::function<void()>> batch;
    {
      const std::lock_guard lock(mutex);
      batch.swap(posted);
    }
    try {
      while (!batch.empty()) {
        const auto task = std::move(batch.front());
        batch.pop_front();
        task();
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      posted.insert(posted.begin(), std::move_iterator(batch.begin()),
                    std::move_iterator(batch.end()));
      throw;
    }
  }

  void run_timers() {
    // One reading of the clock for the batch: a timer that sets itself again is due later than
    // this.
    const Duration now = uptime();
    for (auto due = timers.next_due(); due && *due <= now; due = timers.next_due()) {
      timers.take_first()();
    }
  }

  int milliseconds_to_wait(Duration end) {
    {
      const std::lock_guard lock(mutex);
      if (!posted.empty()) return 0;
    }
    if (const auto due = timers.next_due()) end = std::min(end, *due);
    if (end == Duration::max()) return -1;
    const Duration wait = end - uptime();
    if (wait <= Duration::zero()) return 0;
    // Rounded up: waking up early would spin until the time has come.
    const auto count = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
    return static_cast<int>(std::min<int64_t>(count, 1'000'000'000));
  }

  void wait_for_descriptors(Duration end) {
    epoll_event events[64];
    const int count = epoll_wait(epoll, events, std::size(events), milliseconds_to_wait(end));
    if (count < 0) {
      if (errno == EINTR) return;
      throw_errno("epoll_wait");
    }
    // When a callback throws, the rest of the batch is not lost: epoll reports it again. What is
    // due goes first: a process that was stopped finds an old answer and the deadline that it has
    // missed at the same moment, and must not act on the one before it knows of the other.
    for (int i = 0; i < count; ++i) {
      run_timers();
      dispatch(events[i]);
    }
  }

  void dispatch(const epoll_event& event) {
    if (event.data.u64 == wake_up_mark) {
      uint64_t value;
      [[maybe_unused]] const ssize_t size = ::read(wake_up, &value, sizeof value);
      return;
    }
    const auto found = watchers.find(static_cast<int>(event.data.u64 & 0xffffffff));
    if (found == watchers.end() || found->second.serial != event.data.u64 >> 32) return;
    const Watcher& watcher = found->second;
    const bool gone = (event.events & (EPOLLHUP | EPOLLERR)) != 0;
    const Readiness readiness{watcher.read && (gone || (event.events & EPOLLIN) != 0),
                              watcher.write && (gone || (event.events & EPOLLOUT) != 0),
                              (event.events & EPOLLERR) != 0};
    const auto callback = watcher.callback;
    (*callback)(readiness);
  }

  // One round. `end`: wake up then even if nothing happened. It waits first, so that the caller
  // checks its condition between what runs and the next wait.
  void turn(Duration end) {
    wait_for_descriptors(end);
    run_timers();
    run_posted();
  }

  const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  const int wake_up = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::atomic<bool> stopping = false;
  static_assert(std::atomic<bool>::is_always_lock_free, "stop() runs in signal handlers");

  std::mutex mutex;
  std::deque<std::function<void()>> posted;  // under the mutex

  TimerQueue timers;
  uint32_t next_serial = 1;
  std::unordered_map<int, Watcher> watchers;
};

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {}

EventLoop::~EventLoop() {
  // Tasks own things whose destructors may still talk to this loop, so it is emptied while it is
  // whole.
  for (;;) {
    impl_->timers.clear();
    const auto watchers = std::exchange(impl_->watchers, {});
    std::deque<std::function<void()>> posted;
    {
      const std::lock_guard lock(impl_->mutex);
      posted.swap(impl_->posted);
    }
    if (watchers.empty() && posted.empty()) break;
  }
}

Time system_time() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return Time{std::chrono::duration_cast<Duration>(since_epoch).count()};
}

Time EventLoop::now() const { return system_time(); }

Duration EventLoop::uptime() const { return impl_->uptime(); }

void EventLoop::post(std::function<void()> task) {
  const std::lock_guard lock(impl_->mutex);
  impl_->posted.push_back(std::move(task));
}

TimerId EventLoop::after(Duration delay, std::function<void()> task) {
  return impl_->timers.add(due_after(uptime(), delay), 0, std::move(task));
}

void EventLoop::cancel(TimerId timer) { impl_->timers.cancel(timer); }

void EventLoop::post_from_thread(std::function<void()> task) {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->posted.push_back(std::move(task));
    // Inside the lock: once the loop has seen the task, it may be destroyed.
    impl_->wake();
  }
}

void EventLoop::watch_descriptor(int descriptor, bool read, bool write,
                                 std::function<void(Readiness)> callback) {
  Impl::Watcher& watcher = impl_->watchers[descriptor];
  watcher.read = read;
  watcher.write = write;
  watcher.serial = impl_->next_serial;
  // The mark of the wake-up descriptor must stay its own.
  impl_->next_serial = impl_->next_serial == 0xfffffffe ? 1 : impl_->next_serial + 1;
  const auto old = std::exchange(
      watcher.callback, std::make_shared<std::function<void(Readiness)>>(std::move(callback)));

  // epoll always reports errors, so without interest it must not know the descriptor at all.
  if (!read && !write) {
    if (watcher.registered) epoll_ctl(impl_->epoll, EPOLL_CTL_DEL, descriptor, nullptr);
    watcher.registered = false;
    return;
  }
  epoll_event interest{};
  interest.events = (read ? EPOLLIN : 0U) | (write ? EPOLLOUT : 0U);
  interest.data.u64 = uint64_t{watcher.serial} << 32 | static_cast<uint32_t>(descriptor);
  const int first = watcher.registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  int result = epoll_ctl(impl_->epoll, first, descriptor, &interest);
  if (result != 0 && errno == ENOENT) {
    // It was closed without unwatching, which epoll noticed, and the number belongs to another now.
    result = epoll_ctl(impl_->epoll, EPOLL_CTL_ADD, descriptor, &interest);
  }
  if (result != 0) {
    const int error = errno;
    impl_->watchers.erase(descriptor);
    errno = error;
    throw_errno("epoll_ctl");
  }
  watcher.registered = true;
}

void EventLoop::unwatch_descriptor(int descriptor) {
  const auto watcher = impl_->watchers.extract(descriptor);
  if (!watcher.empty() && watcher.mapped().registered) {
    epoll_ctl(impl_->epoll, EPOLL_CTL_DEL, descriptor, nullptr);
  }
}

void EventLoop::run() {
  while (!impl_->stopping.exchange(false)) impl_->turn(Duration::max());
}

bool EventLoop::run_until(const std::function<bool()>& done, Duration limit) {
  const Duration end = due_after(uptime(), limit);
  for (;;) {
    if (done()) return true;
    if (impl_->stopping.exchange(false) || uptime() >= end) return false;
    impl_->turn(end);
  }
}

void EventLoop::stop() {
  impl_->stopping = true;
  impl_->wake();
}

}  // namespace lockstep
