#include "cli/signals.h"

#include <pthread.h>
#include <signal.h>

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

}  // namespace lockstep::cli
