// Waiting for the end: Ctrl-C, SIGTERM, or the parent's going away.
#pragma once

#include "world/event_loop.h"

namespace lockstep::cli {

// Call before any thread is started: the signals are then delivered to wait_for_signal() alone.
void block_signals();
// Returns the signal that came.
int wait_for_signal();
// The same without waiting: a signal stops the loop and sets `came`, for callers that run the loop
// in pieces, because the end of a piece looks the same. After block_signals().
void stop_at_signal(EventLoop& loop, bool* came = nullptr);

}  // namespace lockstep::cli
