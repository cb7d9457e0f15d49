// When each step of a scenario was taken, and until when it is in force.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/scenario/scenario.h"

namespace lockstep::sim {

class StepTimes {
 public:
  explicit StepTimes(const Scenario& scenario);

  // From now on the step counts as taken, and as in force until its end.
  void note_taken(size_t step, Duration now);
  // On the loop's uptime.
  const std::optional<Duration>& taken(size_t step) const { return taken_[step]; }
  bool all_taken() const;
  // Of all that were taken.
  Duration last_end() const { return last_end_; }
  // When the last of the steps that hide changes ends; nothing before all of them were taken.
  std::optional<Duration> end_of_blinding() const;

 private:
  const Scenario& scenario_;
  std::vector<std::optional<Duration>> taken_;
  std::vector<Duration> ends_;
  std::vector<size_t> blinding_;  // asked for after every second
  Duration last_end_{0};
};

}  // namespace lockstep::sim
