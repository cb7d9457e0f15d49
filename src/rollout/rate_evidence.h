// Whether events are more frequent on upgraded nodes than on those of the same kind that are not:
// a test that may be looked at all the time without more false alarms for it.
//
// Of every event it is asked only on which side it happened. With exposures c (upgraded) and k
// (control) and a ratio r of the two rates, that is the upgraded side with probability
// r c / (r c + k), whatever the rate itself is and however it changes over the day. The product of
// likelihood ratios against r = tolerated, averaged over many r, is a martingale when the ratio is
// the tolerated one and falls when it is smaller: it reaches 1/alpha with a probability of at most
// alpha, over all times together (Ville's inequality).
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::rollout {

struct RateStep {
  double upgraded_hours = 0;  // of GPUs that were busy
  double control_hours = 0;
  int64_t upgraded_events = 0;
  int64_t control_events = 0;
};

class RateEvidence {
 public:
  explicit RateEvidence(double tolerated_ratio = 1.0);

  // What happened since the step before. A side without exposure says nothing about the ratio: what
  // happens on the other side meanwhile is left out.
  void add(const RateStep& step);

  // The evidence that the ratio is larger than tolerated: 1 is none, 20 is enough for alpha 0.05.
  double evidence() const;

  // What the evidence would be after so many more events of each side, at these exposures.
  double evidence_after(const RateStep& more) const;

 private:
  struct Alternative {
    double ratio;
    double log_likelihood = 0;
  };
  void weigh(std::vector<Alternative>& alternatives, const RateStep& step) const;

  double tolerated_;
  std::vector<Alternative> alternatives_;
};

// How much more frequent the events would have to be on the upgraded nodes for a bake of these
// exposures to find it with the given power, when they happen `per_hour` on the others. Infinity:
// no ratio that is looked for would be found.
double detectable_ratio(double upgraded_hours, double control_hours, double per_hour, double alpha,
                        double power, double tolerated_ratio = 1.0);

}  // namespace lockstep::rollout
