// How long to wait before trying again: longer after every failure, and never the same for two
// clients, so that a fleet of them does not come back all at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "world/random.h"

namespace lockstep::kube {

struct BackoffPolicy {
  Duration initial = milliseconds(800);
  Duration maximum = seconds(30);
  double factor = 2.0;
  // A wait of d becomes one between d and d * (1 + jitter), and never more than `maximum`.
  double jitter = 1.0;
};

// d lengthened by a random part of `jitter`: between d and d * (1 + jitter).
Duration jittered(Duration duration, double jitter, Random& random);

// The wait after `failures` failures in a row (the first is 1), before jitter.
Duration backoff_delay(const BackoffPolicy& policy, uint32_t failures);

class Backoff {
 public:
  Backoff(BackoffPolicy policy, Random& random) : policy_(policy), random_(random) {}

  // Counts a failure and says how long to wait.
  Duration next();
  // The same, but at least as long as the other side asked for.
  Duration next_at_least(Duration asked);
  void reset() { failures_ = 0; }
  // What came after so many failures is over.
  void return_to(uint32_t failures) { failures_ = std::min(failures_, failures); }
  uint32_t failures() const { return failures_; }

 private:
  BackoffPolicy policy_;
  Random& random_;
  uint32_t failures_ = 0;
};

}  // namespace lockstep::kube
