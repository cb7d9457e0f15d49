// Waiting for the end: Ctrl-C, SIGTERM, or the parent's going away.
#pragma once

namespace lockstep::cli {

// Call before any thread is started: the signals are then delivered to wait_for_signal() alone.
void block_signals();
// Returns the signal that came.
int wait_for_signal();

}  // namespace lockstep::cli
