#include "rollout/rate_evidence.h"

#include <algorithm>
#include <cmath>

namespace lockstep::rollout {

namespace {

// From twice to two thousand times as frequent, in steps of the square root of two.
constexpr double smallest_ratio = 2;
constexpr int ratios = 21;

// What one incident of each side adds to the logarithm of the likelihood of a ratio.
struct Weights {
  double upgraded = 0;
  double control = 0;
};

std::vector<Weights> weigh(double upgraded_hours, double control_hours, double tolerated) {
  auto share = [&](double ratio) {
    return ratio * upgraded_hours / (ratio * upgraded_hours + control_hours);
  };
  std::vector<Weights> weights;
  double ratio = smallest_ratio * tolerated;
  for (int i = 0; i < ratios; ++i, ratio *= std::sqrt(2.0)) {
    weights.push_back({std::log(share(ratio) / share(tolerated)),
                       std::log((1 - share(ratio)) / (1 - share(tolerated)))});
  }
  return weights;
}

double mean(const std::vector<double>& logarithms) {
  double sum = 0;
  for (double logarithm : logarithms) sum += std::exp(logarithm);
  return sum / static_cast<double>(logarithms.size());
}

// How many upgraded nodes it takes for each number of nodes of the control side that had an
// incident, and how likely that number is.
struct Needed {
  double probability = 0;
  int64_t nodes = 0;
};

class Search {
 public:
  Search(const RateExposure& exposure, const RateSearch& search)
      : exposure_(exposure), search_(search) {
    const std::vector<Weights> weights =
        weigh(exposure.upgraded_hours, exposure.control_hours, search.tolerated);
    const double most = std::log(search.most_per_node);
    const double expected = search.per_hour * exposure.control_hours;
    // Beyond six standard deviations nothing is left.
    const double spread = 6 * std::sqrt(expected) + 6;
    const auto first = static_cast<int64_t>(std::max(0.0, std::floor(expected - spread)));
    const auto last = static_cast<int64_t>(std::ceil(expected + spread));
    int64_t nodes = 1;  // the more on the control side, the more it takes
    for (int64_t control = first; control <= last; ++control) {
      auto is_enough = [&] {
        std::vector<double> logarithms;
        for (const Weights& each : weights) {
          logarithms.push_back(static_cast<double>(nodes) * std::min(each.upgraded, most) +
                               static_cast<double>(control) * each.control);
        }
        return mean(logarithms) >= search.needed;
      };
      while (nodes <= exposure.upgraded_nodes && !is_enough()) ++nodes;
      if (nodes > exposure.upgraded_nodes) break;
      const auto k = static_cast<double>(control);
      needed_.push_back({std::exp(k * std::log(expected) - expected - std::lgamma(k + 1)), nodes});
    }
  }

  // The probability that this ratio is found.
  double power_at(double ratio) const {
    const auto all = static_cast<double>(exposure_.upgraded_nodes);
    // A node is counted once, however many incidents it has.
    const double by_node = ratio * search_.per_hour * exposure_.upgraded_hours / all;
    const double hit = -std::expm1(-by_node);
    double power = 0;
    double below = 0;  // P(fewer than `counted` nodes)
    int64_t counted = 0;
    for (const Needed& each : needed_) {
      for (; counted < each.nodes; ++counted) {
        const auto k = static_cast<double>(counted);
        below += std::exp(std::lgamma(all + 1) - std::lgamma(k + 1) - std::lgamma(all - k + 1) +
                          k * std::log(hit) - (all - k) * by_node);
      }
      power += each.probability * std::max(0.0, 1 - below);
    }
    return power;
  }

 private:
  const RateExposure& exposure_;
  const RateSearch& search_;
  std::vector<Needed> needed_;
};

bool is_empty(const RateExposure& exposure) {
  return exposure.upgraded_hours <= 0 || exposure.control_hours <= 0 ||
         exposure.upgraded_nodes <= 0;
}

}  // namespace

RateEvidence::RateEvidence(double tolerated_ratio, double most_per_node)
    : tolerated_(tolerated_ratio), most_per_node_(most_per_node), log_likelihoods_(ratios, 0) {}

void RateEvidence::add(const RateStep& step) {
  if (step.upgraded_hours <= 0 || step.control_hours <= 0) return;
  if (step.upgraded_nodes.empty() && step.control_nodes == 0) return;
  const std::vector<Weights> weights = weigh(step.upgraded_hours, step.control_hours, tolerated_);
  const double most = std::log(most_per_node_);
  for (const std::string& node : step.upgraded_nodes) {
    auto& added = by_node_.try_emplace(node, ratios, 0).first->second;
    for (size_t i = 0; i < weights.size(); ++i) {
      const double more = std::min(weights[i].upgraded, most - added[i]);
      added[i] += more;
      log_likelihoods_[i] += more;
    }
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    log_likelihoods_[i] += static_cast<double>(step.control_nodes) * weights[i].control;
  }
}

double RateEvidence::evidence() const { return mean(log_likelihoods_); }

double detection_power(const RateExposure& exposure, const RateSearch& search, double ratio) {
  return is_empty(exposure) ? 0 : Search(exposure, search).power_at(ratio);
}

double detectable_ratio(const RateExposure& exposure, const RateSearch& search) {
  constexpr double none = std::numeric_limits<double>::infinity();
  if (is_empty(exposure)) return none;
  const Search nodes(exposure, search);
  double low = search.tolerated;
  double high = search.tolerated;
  constexpr double largest = 1e6;
  while (nodes.power_at(high) < search.power) {
    low = high;
    high *= 2;
    if (high > largest) return none;
  }
  constexpr int halvings = 20;
  for (int i = 0; i < halvings; ++i) {
    double middle = (low + high) / 2;
    (nodes.power_at(middle) >= search.power ? high : low) = middle;
  }
  return high;
}

double poisson_at_least(int64_t n, double expected) {
  double term = std::exp(-expected);
  double below = 0;
  for (int64_t k = 0; k < n; ++k) {
    below += term;
    term *= expected / static_cast<double>(k + 1);
  }
  return std::max(0.0, 1 - below);
}

double binomial_at_least(int64_t n, int64_t all, double probability) {
  if (n <= 0) return 1;
  double sum = 0;
  const auto draws = static_cast<double>(all);
  for (int64_t i = n; i <= all; ++i) {
    const auto k = static_cast<double>(i);
    sum += std::exp(std::lgamma(draws + 1) - std::lgamma(k + 1) - std::lgamma(draws - k + 1) +
                    k * std::log(probability) + (draws - k) * std::log1p(-probability));
  }
  return sum;
}

}  // namespace lockstep::rollout
