#include "cli/signals.h"

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>

namespace lockstep::cli {

namespace {

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  return set;
}

}  // namespace

void block_signals() {
  sigset_t set = ending_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  // A client that hangs up must cost us an error code, not our life.
  signal(SIGPIPE, SIG_IGN);
}

int wait_for_signal() {
  sigset_t set = ending_signals();
  int number = 0;
  sigwait(&set, &number);
  return number;
}

void stop_at_signal(EventLoop& loop, bool* came) {
  sigset_t set = ending_signals();
  // Lives as long as the process: there is one loop that waits for its end.
  int descriptor = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (descriptor < 0) return;
  loop.watch_descriptor(descriptor, true, false, [&loop, descriptor, came](EventLoop::Readiness) {
    loop.unwatch_descriptor(descriptor);
    if (came != nullptr) *came = true;
    loop.stop();
  });
}

}  // namespace lockstep::cli
