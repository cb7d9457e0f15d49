#include "sim/scenario/step_times.h"

#include <algorithm>

#include "sim/scenario/blindness.h"
#include "sim/scenario/fault_reader.h"

namespace lockstep::sim {

StepTimes::StepTimes(const Scenario& scenario)
    : scenario_(scenario), taken_(scenario.steps.size()), ends_(scenario.steps.size()) {
  for (size_t i = 0; i < scenario.steps.size(); ++i) {
    if (blinds(scenario.steps[i])) blinding_.push_back(i);
  }
}

void StepTimes::note_taken(size_t step, Duration now) {
  const Interference& taken = scenario_.steps[step];
  taken_[step] = now;
  ends_[step] = now + (taken.action == "clockStep" ? Duration(0) : length_of(taken));
  last_end_ = std::max(last_end_, ends_[step]);
}

bool StepTimes::all_taken() const {
  return std::all_of(taken_.begin(), taken_.end(), [](const auto& when) { return !!when; });
}

std::optional<Duration> StepTimes::end_of_blinding() const {
  Duration last{0};
  for (size_t step : blinding_) {
    if (!taken_[step]) return std::nullopt;
    last = std::max(last, ends_[step]);
  }
  return last;
}

}  // namespace lockstep::sim
