#include "kube/backoff.h"

#include <algorithm>
#include <limits>

namespace lockstep::kube {

Duration jittered(Duration duration, double jitter, Random& random) {
  double extra = static_cast<double>(duration.count()) * jitter * random.fraction();
  // A double near the end of the range would not fit back into an integer.
  double room = static_cast<double>((Duration::max() - duration).count() / 2);
  return duration + Duration(static_cast<int64_t>(std::clamp(extra, 0.0, room)));
}

Duration backoff_delay(const BackoffPolicy& policy, uint32_t failures) {
  double delay = static_cast<double>(policy.initial.count());
  double maximum = static_cast<double>(policy.maximum.count());
  for (uint32_t i = 1; i < failures && delay < maximum; ++i) delay *= policy.factor;
  if (delay >= maximum) return policy.maximum;
  return Duration(static_cast<int64_t>(delay));
}

Duration Backoff::next() {
  if (failures_ < std::numeric_limits<uint32_t>::max()) ++failures_;
  Duration delay = jittered(backoff_delay(policy_, failures_), policy_.jitter, random_);
  return std::min(delay, policy_.maximum);
}

Duration Backoff::next_at_least(Duration asked) {
  Duration own = next();
  if (own >= asked) return own;
  // Every refused client got the same answer: spread those that obey it, too.
  return jittered(asked, 0.1, random_);
}

}  // namespace lockstep::kube
