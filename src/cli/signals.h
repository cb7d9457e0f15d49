// Waiting for the end: Ctrl-C, SIGTERM, or the parent's going away.
#pragma once

#include "world/event_loop.h"

namespace lockstep::cli {

// Call before any thread is started: the signals are then delivered to wait_for_signal() alone.
void block_signals();
// Returns the signal that came.
int wait_for_signal();
// The same without waiting: the loop is stopped when a signal comes, and `came` becomes true, for
// those who run it in pieces: the end of a piece looks the same. After block_signals().
void stop_at_signal(EventLoop& loop, bool* came = nullptr);

}  // namespace lockstep::cli
