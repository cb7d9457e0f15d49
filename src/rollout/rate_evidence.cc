#include "rollout/rate_evidence.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep::rollout {

namespace {

// From twice to two thousand times as frequent, in steps of the square root of two.
constexpr double smallest_ratio = 2;
constexpr int ratios = 21;

double share_of_upgraded(double ratio, const RateStep& step) {
  double upgraded = ratio * step.upgraded_hours;
  return upgraded / (upgraded + step.control_hours);
}

double mean(const std::vector<double>& logarithms) {
  double sum = 0;
  for (double logarithm : logarithms) sum += std::exp(logarithm);
  return sum / static_cast<double>(logarithms.size());
}

// P(X < n) of a Poisson distribution.
double poisson_below(int64_t n, double expected) {
  double term = std::exp(-expected);
  double sum = 0;
  for (int64_t k = 0; k < n; ++k) {
    sum += term;
    term *= expected / static_cast<double>(k + 1);
  }
  return sum;
}

}  // namespace

RateEvidence::RateEvidence(double tolerated_ratio) : tolerated_(tolerated_ratio) {
  double ratio = smallest_ratio * tolerated_ratio;
  for (int i = 0; i < ratios; ++i, ratio *= std::sqrt(2.0)) alternatives_.push_back({ratio});
}

void RateEvidence::weigh(std::vector<Alternative>& alternatives, const RateStep& step) const {
  if (step.upgraded_hours <= 0 || step.control_hours <= 0) return;
  if (step.upgraded_events == 0 && step.control_events == 0) return;
  double tolerated = share_of_upgraded(tolerated_, step);
  for (Alternative& alternative : alternatives) {
    double share = share_of_upgraded(alternative.ratio, step);
    alternative.log_likelihood +=
        static_cast<double>(step.upgraded_events) * std::log(share / tolerated) +
        static_cast<double>(step.control_events) * std::log((1 - share) / (1 - tolerated));
  }
}

void RateEvidence::add(const RateStep& step) { weigh(alternatives_, step); }

double RateEvidence::evidence() const { return evidence_after({}); }

double RateEvidence::evidence_after(const RateStep& more) const {
  std::vector<Alternative> alternatives = alternatives_;
  weigh(alternatives, more);
  std::vector<double> logarithms;
  for (const Alternative& alternative : alternatives) {
    logarithms.push_back(alternative.log_likelihood);
  }
  return mean(logarithms);
}

double detectable_ratio(double upgraded_hours, double control_hours, double per_hour, double alpha,
                        double power, double tolerated_ratio) {
  constexpr double none = std::numeric_limits<double>::infinity();
  if (upgraded_hours <= 0 || control_hours <= 0 || per_hour <= 0) return none;
  // As many on the control side as are to be expected there.
  auto control_events = static_cast<int64_t>(std::llround(per_hour * control_hours));
  RateEvidence test(tolerated_ratio);
  int64_t needed = 1;
  constexpr int64_t most = 100000;
  while (needed < most &&
         test.evidence_after({upgraded_hours, control_hours, needed, control_events}) < 1 / alpha) {
    needed += std::max<int64_t>(1, needed / 50);
  }
  if (needed >= most) return none;
  double low = tolerated_ratio;
  double high = tolerated_ratio;
  auto found = [&](double ratio) {
    return 1 - poisson_below(needed, ratio * per_hour * upgraded_hours) >= power;
  };
  constexpr double largest = 1e9;
  while (!found(high)) {
    low = high;
    high *= 2;
    if (high > largest) return none;
  }
  for (int i = 0; i < 40; ++i) {
    double middle = (low + high) / 2;
    (found(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace lockstep::rollout
