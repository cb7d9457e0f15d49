#include "rollout/bake.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace lockstep::rollout {

namespace {

constexpr double largest_detectable = 1e6;

// Weights that are fixed before anything is seen and add up to one keep the mean of several
// evidences an evidence: half for all events together, the rest for each kind by itself.
constexpr std::array<std::string_view, 5> known_kinds = {"FatalXid", "UncorrectableEcc", "GpuLost",
                                                         "LinkFlap", "FailedPrepare"};
constexpr double pooled_weight = 0.5;
constexpr double kind_weight = (1 - pooled_weight) / static_cast<double>(known_kinds.size());

std::string name_breach(const Breach& breach) {
  return fmt::format("{} on {}: {}", breach.rule, breach.node, breach.text);
}

// P(at least `slower` of `all` by chance, when each is slower with probability one half).
double sign_test(int64_t slower, int64_t all) {
  double sum = 0;
  for (int64_t k = slower; k <= all; ++k) {
    double choose = std::lgamma(static_cast<double>(all + 1)) -
                    std::lgamma(static_cast<double>(k + 1)) -
                    std::lgamma(static_cast<double>(all - k + 1));
    sum += std::exp(choose - static_cast<double>(all) * std::log(2.0));
  }
  return sum;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string describe_ratio(double ratio) {
  return ratio < largest_detectable ? fmt::format("{:.0f} times", std::ceil(ratio))
                                    : std::string("any");
}

// Few hours of a short bake are not none.
std::string hours_text(double hours) {
  constexpr double many = 10;
  return hours >= many ? fmt::format("{:.0f}", hours) : fmt::format("{:.2g}", hours);
}

std::string whole_seconds(Duration duration) {
  return format_duration(seconds(static_cast<int64_t>(in_seconds(duration))));
}

}  // namespace

std::string_view to_string(BakeOutcome outcome) {
  switch (outcome) {
    case BakeOutcome::going_on:
      return "GoingOn";
    case BakeOutcome::passed:
      return "Passed";
    case BakeOutcome::failed:
      return "Failed";
    case BakeOutcome::held:
      return "Held";
    case BakeOutcome::inconclusive:
      return "Inconclusive";
  }
  return "";
}

BakeJudge::BakeJudge(BakeRules rules, Time began)
    : rules_(rules), began_(began), pooled_(rules.tolerated_ratio) {}

void BakeJudge::decide(BakeOutcome outcome, std::string reason, std::string text) {
  if (decided_) return;
  BakeVerdict verdict;
  verdict.outcome = outcome;
  verdict.reason = std::move(reason);
  verdict.text = std::move(text);
  decided_ = std::move(verdict);
}

void BakeJudge::add(const BakeStep& step) {
  add_models(step);
  if (step.earlier) return;
  judge_breaches(step);
  for (const SpeedPair& pair : step.speeds) {
    if (pair.before > 0 && pair.after >= 0)
      ratios_[pair.what][pair.node] = pair.after / pair.before;
  }
  judge_speeds();
  judge_rates(step.at);
}

void BakeJudge::add_models(const BakeStep& step) {
  auto kind_of = [&](const std::string& name) -> Kind& {
    return kinds_.try_emplace(name, rules_.tolerated_ratio).first->second;
  };
  std::erase_if(recent_control_,
                [&](const Control& control) { return control.at + rules_.together < step.at; });
  for (const ModelStep& model : step.models) {
    upgraded_hours_ += model.upgraded_hours;
    control_hours_ += model.control_hours;
    if (!step.earlier) {
      own_hours_ += model.upgraded_hours;
      own_control_hours_ += model.control_hours;
    }
    std::map<std::string, RateStep> steps;
    RateStep together{model.upgraded_hours, model.control_hours, 0, 0};
    for (const auto& [kind, events] : model.upgraded_events) steps[kind].upgraded_events += events;
    for (const auto& [kind, events] : model.control_events) steps[kind].control_events += events;
    for (auto& [name, rates] : steps) {
      rates.upgraded_hours = model.upgraded_hours;
      rates.control_hours = model.control_hours;
      Kind& kind = kind_of(name);
      kind.test.add(rates);
      together.upgraded_events += rates.upgraded_events;
      together.control_events += rates.control_events;
      kind.upgraded_events += rates.upgraded_events;
      kind.control_events += rates.control_events;
      if (step.earlier || rates.control_events == 0) continue;
      kind.own_control_events += rates.control_events;
      recent_control_.push_back({step.at, name, rates.control_events});
    }
    pooled_.add(together);
  }
}

void BakeJudge::judge_breaches(const BakeStep& step) {
  std::erase_if(recent_control_breaches_,
                [&](const auto& entry) { return entry.first + rules_.together < step.at; });
  for (const Breach& breach : step.control_breaches) {
    recent_control_breaches_.emplace_back(step.at, breach);
  }
  for (const Breach& breach : step.upgraded_breaches) {
    auto alike = std::find_if(recent_control_breaches_.begin(), recent_control_breaches_.end(),
                              [&](const auto& entry) { return entry.second.rule == breach.rule; });
    if (alike != recent_control_breaches_.end()) {
      decide(BakeOutcome::held, "ControlFailsToo",
             fmt::format("{}; and within {} on a node that was not upgraded: {}. It is not the "
                         "driver alone",
                         name_breach(breach), format_duration(rules_.together),
                         name_breach(alike->second)));
    } else {
      decide(BakeOutcome::failed, breach.rule, name_breach(breach));
    }
  }
}

void BakeJudge::judge_speeds() {
  for (const auto& [what, nodes] : ratios_) {
    std::vector<double> all;
    int64_t slower = 0;
    const std::pair<const std::string, double>* slowest = nullptr;
    for (const auto& entry : nodes) {
      all.push_back(entry.second);
      if (entry.second < 1 - rules_.speed_margin) ++slower;
      if (slowest == nullptr || entry.second < slowest->second) slowest = &entry;
    }
    double middle = median(all);
    // Three times the margin on one node is no noise.
    if (slowest->second < 1 - 3 * rules_.speed_margin) {
      decide(BakeOutcome::failed, "Slower",
             fmt::format("{} on {} is {:.1f}% slower than before its upgrade (limit for one node "
                         "{:.1f}%)",
                         what, slowest->first, 100 * (1 - slowest->second),
                         300 * rules_.speed_margin));
    } else if (middle < 1 - rules_.speed_margin &&
               sign_test(slower, static_cast<int64_t>(all.size())) <= rules_.alpha) {
      decide(BakeOutcome::failed, "Slower",
             fmt::format("{} is {:.1f}% slower than before the upgrade in the median of {} nodes "
                         "(margin {:.1f}%)",
                         what, 100 * (1 - middle), all.size(), 100 * rules_.speed_margin));
    }
  }
}

double BakeJudge::evidence_of_all() const {
  double sum = pooled_weight * pooled_.evidence();
  for (std::string_view name : known_kinds) {
    auto kind = kinds_.find(std::string(name));
    // What has not been seen is no evidence for either side.
    sum += kind_weight * (kind == kinds_.end() ? 1 : kind->second.test.evidence());
  }
  return sum;
}

// The control has more of the same at the same time than chance gives it.
std::optional<std::string> BakeJudge::control_burst(Time at) const {
  std::map<std::string, int64_t> recent;
  for (const Control& control : recent_control_) {
    if (control.at + rules_.together >= at) recent[control.kind] += control.events;
  }
  for (const auto& [name, events] : recent) {
    const Kind& kind = kinds_.at(name);
    int64_t before = kind.own_control_events - events;
    double spent = in_seconds(at - began_);
    double window = in_seconds(rules_.together);
    double expected = std::max(static_cast<double>(before), 0.5) * window / std::max(spent, window);
    constexpr int64_t fewest = 3;
    if (events >= fewest && static_cast<double>(events) > expected + 4 * std::sqrt(expected)) {
      return fmt::format("{} {} within {} on nodes that were not upgraded", events, name,
                         format_duration(rules_.together));
    }
  }
  return std::nullopt;
}

void BakeJudge::judge_rates(Time at) {
  if (decided_) return;
  double limit = 1 / rules_.alpha;
  if (evidence_of_all() < limit) return;
  if (auto burst = control_burst(at)) {
    return decide(BakeOutcome::held, "ControlFailsToo", *burst + ": it is not the driver alone");
  }
  // Enough evidence comes from events, so that there is a kind.
  auto worst = std::max_element(kinds_.begin(), kinds_.end(), [](const auto& a, const auto& b) {
    return a.second.test.evidence() < b.second.test.evidence();
  });
  const Kind& kind = worst->second;
  decide(BakeOutcome::failed, "RateTooHigh",
         fmt::format("{}: {} in {} GPU-hours after the upgrade, and {} in {} without it; "
                     "evidence {:.1f}, limit {:.1f}",
                     worst->first, kind.upgraded_events, hours_text(upgraded_hours_),
                     kind.control_events, hours_text(control_hours_), evidence_of_all(), limit));
}

std::string BakeJudge::describe_detectable(const std::vector<KindEvidence>& kinds) const {
  double rate = rules_.expected_per_gpu_hour;
  double usual = detectable_ratio(upgraded_hours_, control_hours_, rate, rules_.alpha, rules_.power,
                                  rules_.tolerated_ratio);
  std::string text = fmt::format(
      "With {} GPU-hours after the upgrade and {} without it, this bake finds with {:.0f}% "
      "certainty events that happen once in {:.0f} GPU-hours only if they become {} as frequent; ",
      hours_text(upgraded_hours_), hours_text(control_hours_), 100 * rules_.power, 1 / rate,
      usual < largest_detectable ? "at least " + describe_ratio(usual)
                                 : "more than a million times");
  text += "what is less than that it cannot see.";
  for (const KindEvidence& kind : kinds) {
    text +=
        fmt::format(" {}: {} and {}; from {} as frequent on it would have been found.", kind.kind,
                    kind.upgraded_events, kind.control_events, describe_ratio(kind.detectable));
  }
  return text;
}

BakeVerdict BakeJudge::verdict(Time now) const {
  BakeVerdict verdict = decided_.value_or(BakeVerdict{});
  verdict.gpu_hours = own_hours_;
  verdict.control_gpu_hours = own_control_hours_;
  verdict.passed = std::max(now - began_, Duration::zero());
  verdict.evidence = evidence_of_all();
  verdict.limit = 1 / rules_.alpha;
  for (const auto& [name, kind] : kinds_) {
    double rate = control_hours_ > 0 && kind.control_events > 0
                      ? static_cast<double>(kind.control_events) / control_hours_
                      : rules_.expected_per_gpu_hour;
    verdict.kinds.push_back({name, kind.upgraded_events, kind.control_events, kind.test.evidence(),
                             detectable_ratio(upgraded_hours_, control_hours_, rate, rules_.alpha,
                                              rules_.power, rules_.tolerated_ratio)});
  }
  verdict.detectable = describe_detectable(verdict.kinds);
  if (decided_) return verdict;
  bool enough = own_hours_ >= rules_.min_gpu_hours;
  if (verdict.passed >= rules_.duration && enough) {
    verdict.outcome = BakeOutcome::passed;
    verdict.reason = "Baked";
    verdict.text = fmt::format("{} and {} GPU-hours without a finding",
                               whole_seconds(verdict.passed), hours_text(own_hours_));
  } else if (verdict.passed >= rules_.max_duration) {
    verdict.outcome = BakeOutcome::inconclusive;
    verdict.reason = "TooLittleExposure";
    verdict.text = fmt::format("{} of {} GPU-hours after {}: the nodes were not busy enough",
                               hours_text(own_hours_), hours_text(rules_.min_gpu_hours),
                               whole_seconds(verdict.passed));
  } else {
    verdict.reason = "Baking";
    verdict.text = fmt::format("{} of {}, {} of {} GPU-hours", human_duration(verdict.passed),
                               format_duration(rules_.duration), hours_text(own_hours_),
                               hours_text(rules_.min_gpu_hours));
  }
  return verdict;
}

}  // namespace lockstep::rollout
