// Whether incidents are more frequent on upgraded nodes than on those of the same kind that are
// not: a test that may be evaluated all the time without more false alarms.
//
// Of every incident it is asked only on which side it happened. With exposures c (upgraded) and k
// (control) and a ratio r of the two rates, that is the upgraded side with probability r c / (r c +
// k), whatever the rate itself is and however it changes over the day. The product of likelihood
// ratios against r = tolerated, averaged over many r, is a martingale when the ratio is the
// tolerated one and falls when it is smaller: it reaches 1/alpha with a probability of at most
// alpha, over all times together (Ville's inequality).
//
// Some nodes break more often than others, whatever their driver. That does no harm as long as a
// node's first incident is compared with first incidents alone: which of the nodes without one
// breaks next is an upgraded one as likely as before (a log-rank test). Second ones are compared
// with second ones, on nodes that have had one, and so on. What a single node can say is bounded:
// see `most_per_node`.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace lockstep::rollout {

// Of nodes that have had equally many incidents before.
struct RateStep {
  double upgraded_hours = 0;  // of GPUs that were busy when it began
  double control_hours = 0;
  std::vector<std::string> upgraded_nodes = {};  // that had an incident in it
  int64_t control_nodes = 0;
};

class RateEvidence {
 public:
  // `most_per_node`: the factor by which one upgraded node may raise the evidence.
  explicit RateEvidence(double tolerated_ratio = 1.0,
                        double most_per_node = std::numeric_limits<double>::infinity());

  // What happened since the step before. A side without exposure says nothing about the ratio: what
  // happens on the other side meanwhile is left out.
  void add(const RateStep& step);

  // The evidence that the ratio is larger than tolerated: 1 is neutral, 20 suffices for alpha
  // 0.05.
  double evidence() const;

 private:
  double tolerated_;
  double most_per_node_;
  std::vector<double> log_likelihoods_;                 // by ratio
  std::map<std::string, std::vector<double>> by_node_;  // what upgraded nodes have added to them
};

// What a bake has to find a difference with.
struct RateExposure {
  double upgraded_hours = 0;
  double control_hours = 0;
  int64_t upgraded_nodes = 0;
};

struct RateSearch {
  double per_hour = 0;   // how often incidents happen on the other nodes
  double needed = 20;    // the evidence at which it is found
  double power = 0.9;    // with this probability
  double tolerated = 1;  // this and the next: see RateEvidence
  double most_per_node = std::numeric_limits<double>::infinity();
};

// The probability that a bake of these exposures finds that incidents are `ratio` times as frequent
// on the upgraded nodes. In truth it is a little higher: early findings are not counted.
double detection_power(const RateExposure& exposure, const RateSearch& search, double ratio);

// How much more frequent the incidents would have to be on the upgraded nodes for a bake of these
// exposures to find it with the given power. Infinity: no ratio would be found.
double detectable_ratio(const RateExposure& exposure, const RateSearch& search);

// P(X >= n) of a Poisson distribution, and of `all` draws each of which hits with this probability.
double poisson_at_least(int64_t n, double expected);
double binomial_at_least(int64_t n, int64_t all, double probability);

}  // namespace lockstep::rollout
