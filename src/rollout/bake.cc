#include "rollout/bake.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "rollout/headline.h"
#include "upgrade/pod_names.h"

namespace lockstep::rollout {

namespace {

// A larger ratio is not realistic for a driver.
constexpr double largest_realistic = 100;
// For which it is said how much exposure it would need.
constexpr double usual_ratio = 30;

// Weights that are fixed before anything is seen and add up to one keep the mean of several
// evidences an evidence: half for all events together, the rest for each kind by itself.
constexpr std::array known_kinds = {Reason::fatal_xid, Reason::uncorrectable_ecc, Reason::gpu_lost,
                                    Reason::link_flap, Reason::failed_prepare};
constexpr double pooled_weight = 0.5;
constexpr double kind_weight = (1 - pooled_weight) / static_cast<double>(known_kinds.size());

std::string name_breach(const Breach& breach) {
  return fmt::format("{} on {}: {}", breach.rule.view(), breach.node, breach.text);
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

// One node says at most half of what is needed, so that no single one rolls a fleet back: where it
// is broken or lies, hard rules and the count of incidents are what it fails.
double most_per_node(const BakeRules& rules) { return std::sqrt(1 / rules.alpha); }

// The hours of nodes that had this number of incidents before.
double nodes_hours(double all, const RepeatHours& repeated, size_t incidents) {
  if (incidents > 0) return repeated[incidents - 1];
  double left = all;
  for (double hours : repeated) left -= hours;
  // What rounding leaves of nothing is nothing.
  return left > 1e-9 * all ? left : 0;
}

std::string counted_incidents(int64_t incidents) {
  return upgrade::counted(static_cast<size_t>(incidents), "incident");
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

void count_incidents(const BakeStep& step, Duration elapsed, Incidents& incidents) {
  const Duration from = step.earlier ? Duration::zero() : elapsed;
  const Duration to = step.earlier ? -2 * incident_length : step.elapsed;
  for (const ModelStep& model : step.models) {
    for (const auto* events : {&model.upgraded_events, &model.control_events}) {
      for (const auto& [node, counts] : *events) incidents.add(node, counts, from, to);
    }
  }
}

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

BakeJudge::BakeJudge(BakeRules rules)
    : rules_(rules), pooled_(rules.tolerated_ratio, most_per_node(rules)) {}

void BakeJudge::decide(BakeOutcome outcome, ReasonName reason, std::string text) {
  if (decided_) return;
  BakeVerdict verdict;
  verdict.outcome = outcome;
  verdict.reason = std::move(reason);
  verdict.text = std::move(text);
  decided_ = std::move(verdict);
}

void BakeJudge::add(const BakeStep& step) {
  std::erase_if(recent_control_, [&](const Control& control) {
    return control.at + rules_.together < step.elapsed;
  });
  const Incidents before = incidents_;
  count_incidents(step, elapsed_, incidents_);
  for (const ModelStep& model : step.models) add_model(model, step, before);
  if (step.earlier) return;
  elapsed_ = step.elapsed;
  upgraded_nodes_ = step.upgraded_nodes;
  fewest_upgraded_nodes_ =
      std::min(fewest_upgraded_nodes_.value_or(step.upgraded_nodes), step.upgraded_nodes);
  silent_nodes_ = step.silent_nodes;
  judge_breaches(step);
  for (const SpeedPair& pair : step.speeds) {
    if (pair.before > 0 && pair.after >= 0)
      ratios_[pair.what][pair.node] = pair.after / pair.before;
  }
  judge_speeds();
  judge_rates(step.elapsed);
}

BakeJudge::Kind& BakeJudge::kind_of(const std::string& name) {
  return kinds_.try_emplace(name, rules_.tolerated_ratio, most_per_node(rules_)).first->second;
}

void BakeJudge::add_model(const ModelStep& model, const BakeStep& step, const Incidents& before) {
  compare(model, before);
  upgraded_hours_ += model.upgraded_hours;
  control_hours_ += model.control_hours;
  for (const auto& [node, events] : model.upgraded_events) {
    for (const auto& [kind, count] : events) kind_of(kind).upgraded_events += count;
  }
  for (const auto& [node, events] : model.control_events) {
    for (const auto& [kind, count] : events) kind_of(kind).control_events += count;
  }
  if (step.earlier) return;
  Model& of_model = models_[model.model];
  of_model.own_hours += model.upgraded_hours;
  own_hours_ += model.upgraded_hours;
  own_control_hours_ += model.control_hours;
  for (const auto& [node, events] : model.upgraded_events) {
    if (upgraded_incidents_.add(node, events, elapsed_, step.elapsed)) ++of_model.own_incidents;
    for (const auto& [kind, count] : events) kind_of(kind).last_upgraded = step.elapsed;
  }
  for (const auto& [node, events] : model.control_events) {
    if (control_incidents_.add(node, events, elapsed_, step.elapsed)) {
      note_control_incident(events, step.elapsed);
    }
  }
}

// Incidents with those that are their node's first, second, … alike.
void BakeJudge::compare(const ModelStep& model, const Incidents& before) {
  // An incident of an earlier step that events continue is not counted again.
  auto nth = [&](const std::string& node) -> std::optional<size_t> {
    const auto n = static_cast<size_t>(incidents_.count(node));
    if (n == static_cast<size_t>(before.count(node)) || n > compared_incidents) return std::nullopt;
    return n - 1;
  };
  for (size_t repeat = 0; repeat < compared_incidents; ++repeat) {
    RateStep together;
    together.upgraded_hours =
        nodes_hours(model.upgraded_hours, model.upgraded_repeat_hours, repeat);
    together.control_hours = nodes_hours(model.control_hours, model.control_repeat_hours, repeat);
    std::map<std::string, RateStep> kinds;
    for (const auto& [node, events] : model.upgraded_events) {
      if (nth(node) != repeat) continue;
      together.upgraded_nodes.push_back(node);
      for (const auto& [kind, count] : events) kinds[kind].upgraded_nodes.push_back(node);
    }
    for (const auto& [node, events] : model.control_events) {
      if (nth(node) != repeat) continue;
      ++together.control_nodes;
      for (const auto& [kind, count] : events) ++kinds[kind].control_nodes;
    }
    for (auto& [name, rates] : kinds) {
      rates.upgraded_hours = together.upgraded_hours;
      rates.control_hours = together.control_hours;
      Kind& kind = kind_of(name);
      kind.test.add(rates);
      kind.upgraded_incidents += static_cast<int64_t>(rates.upgraded_nodes.size());
      kind.control_incidents += rates.control_nodes;
    }
    pooled_.add(together);
    if (repeat > 0) continue;
    Model& of_model = models_[model.model];
    of_model.control_hours += together.control_hours;
    of_model.control_nodes += together.control_nodes;
  }
}

void BakeJudge::note_control_incident(const EventCounts& events, Duration at) {
  for (const auto& [kind, count] : events) {
    ++kind_of(kind).own_control_incidents;
    recent_control_.push_back({at, kind});
  }
}

// What is seen again keeps the time at which it was first seen.
void BakeJudge::observe(const std::vector<Breach>& seen, Duration at,
                        std::vector<Observed>& known) {
  for (const Breach& breach : seen) {
    auto before = std::find_if(known.begin(), known.end(), [&](const Observed& each) {
      return each.breach.rule == breach.rule && each.breach.node == breach.node;
    });
    if (before == known.end()) {
      known.push_back({breach, at});
    } else {
      before->breach.text = breach.text;
    }
  }
}

void BakeJudge::judge_breaches(const BakeStep& step) {
  auto ended = [](const std::vector<Breach>& seen, const Observed& each) {
    return std::none_of(seen.begin(), seen.end(), [&](const Breach& breach) {
      return breach.rule == each.breach.rule && breach.node == each.breach.node;
    });
  };
  std::erase_if(upgraded_breaches_,
                [&](const Observed& each) { return ended(step.upgraded_breaches, each); });
  std::erase_if(control_breaches_, [&](const Observed& each) {
    return each.first + rules_.together < step.elapsed && ended(step.control_breaches, each);
  });
  observe(step.upgraded_breaches, step.elapsed, upgraded_breaches_);
  observe(step.control_breaches, step.elapsed, control_breaches_);
  for (const Observed& breach : upgraded_breaches_) {
    if (step.elapsed - breach.first < breach_confirmed_after) continue;
    // One that was broken long before is not the same cause.
    auto alike = std::find_if(
        control_breaches_.begin(), control_breaches_.end(), [&](const Observed& control) {
          return control.breach.rule == breach.breach.rule &&
                 std::chrono::abs(control.first - breach.first) <= rules_.together;
        });
    if (alike != control_breaches_.end()) {
      decide(BakeOutcome::held, Reason::control_group_failing,
             fmt::format("{}; within {} also on a node that was not upgraded: {}. The driver is "
                         "not the only cause",
                         name_breach(breach.breach), format_duration(rules_.together),
                         name_breach(alike->breach)));
    } else {
      decide(BakeOutcome::failed, breach.breach.rule, name_breach(breach.breach));
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
    // Three times the margin on one node is not noise.
    if (slowest->second < 1 - 3 * rules_.speed_margin) {
      decide(BakeOutcome::failed, Reason::slower,
             fmt::format("{} on {} is {:.1f}% slower than before its upgrade (limit for one node "
                         "{:.1f}%)",
                         what, slowest->first, 100 * (1 - slowest->second),
                         300 * rules_.speed_margin));
    } else if (middle < 1 - rules_.speed_margin &&
               sign_test(slower, static_cast<int64_t>(all.size())) <= rules_.alpha) {
      decide(BakeOutcome::failed, Reason::slower,
             fmt::format("{} is {:.1f}% slower than before the upgrade in the median of {} nodes "
                         "(margin {:.1f}%)",
                         what, 100 * (1 - middle), all.size(), 100 * rules_.speed_margin));
    }
  }
}

double BakeJudge::evidence_of_all() const {
  double sum = pooled_weight * pooled_.evidence();
  for (const ReasonName name : known_kinds) {
    auto kind = kinds_.find(name.str());
    // A kind without events is not evidence for either side.
    sum += kind_weight * (kind == kinds_.end() ? 1 : kind->second.test.evidence());
  }
  return sum;
}

// The same happens on both sides, and on the control's more often than chance gives it.
std::optional<std::string> BakeJudge::control_burst(Duration at) const {
  std::map<std::string, int64_t> recent;
  for (const Control& control : recent_control_) ++recent[control.kind];
  for (const auto& [name, incidents] : recent) {
    const Kind& kind = kinds_.at(name);
    if (!kind.last_upgraded || *kind.last_upgraded + rules_.together < at) continue;
    int64_t before = kind.own_control_incidents - incidents;
    double spent = in_seconds(at);
    double window = in_seconds(rules_.together);
    double expected = std::max(static_cast<double>(before), 0.5) * window / std::max(spent, window);
    constexpr int64_t fewest = 3;
    if (incidents >= fewest &&
        static_cast<double>(incidents) > expected + 4 * std::sqrt(expected)) {
      return fmt::format("{} on {} nodes that were not upgraded, within {}", name, incidents,
                         format_duration(rules_.together));
    }
  }
  return std::nullopt;
}

void BakeJudge::judge_rates(Duration at) {
  if (decided_) return;
  if (auto burst = control_burst(at)) {
    return decide(BakeOutcome::held, Reason::control_group_failing,
                  *burst + ": the driver is not the only cause");
  }
  double limit = 1 / rules_.alpha;
  if (evidence_of_all() < limit) return;
  // Enough evidence comes from events, so that there is a kind.
  auto worst = std::max_element(kinds_.begin(), kinds_.end(), [](const auto& a, const auto& b) {
    return a.second.test.evidence() < b.second.test.evidence();
  });
  const Kind& kind = worst->second;
  decide(BakeOutcome::failed, Reason::rate_too_high,
         fmt::format("{}: {} in {} GPU-hours after the upgrade, {} in {} without it; "
                     "evidence {:.1f}, limit {:.1f}",
                     worst->first, counted_incidents(kind.upgraded_incidents),
                     hours_text(upgraded_hours_), counted_incidents(kind.control_incidents),
                     hours_text(control_hours_), evidence_of_all(), limit));
}

// Every incident of an upgraded node is either explained by what happens without the upgrade, or
// the bake does not pass: also where nothing could be compared, because nodes were idle or none was
// left without the upgrade. Nothing: all are explained.
std::optional<std::string> BakeJudge::unexplained_incidents() const {
  if (upgraded_incidents_.count() == 0) return std::nullopt;
  const std::string what = incidents_text();
  if (upgraded_incidents_.nodes() >= fewest_upgraded_nodes_.value_or(0)) {
    return what + ": every upgraded node had one";
  }
  for (const auto& [name, model] : models_) {
    if (model.own_incidents == 0) continue;
    if (model.control_hours <= 0) return what + ": no busy node without the upgrade for comparison";
    // Either by what happens on them, or by what is known of GPUs.
    const double share = model.own_hours / (model.own_hours + model.control_hours);
    const bool is_usual =
        model.own_hours > 0 &&
        (binomial_at_least(model.own_incidents, model.own_incidents + model.control_nodes, share) >=
             rules_.alpha ||
         poisson_at_least(model.own_incidents, rules_.expected_per_gpu_hour * model.own_hours) >=
             rules_.alpha);
    if (!is_usual) {
      const double rate = std::max(rules_.expected_per_gpu_hour,
                                   static_cast<double>(model.control_nodes) / model.control_hours);
      const double expected = rate * model.own_hours;
      return fmt::format("{}: {:.2g} expected from the nodes without the upgrade", what, expected);
    }
  }
  return std::nullopt;
}

std::string BakeJudge::incidents_text() const {
  return fmt::format("{} on {} of {} ({})", counted_incidents(upgraded_incidents_.count()),
                     upgraded_incidents_.nodes(), upgraded_nodes_text(),
                     upgraded_incidents_.text());
}

RateSearch BakeJudge::search() const {
  // Where one kind of event alone is more frequent.
  constexpr double weight = pooled_weight + kind_weight;
  RateSearch search;
  search.per_hour = rules_.expected_per_gpu_hour;
  search.needed = (1 / rules_.alpha - (1 - weight)) / weight;
  search.power = rules_.power;
  search.tolerated = rules_.tolerated_ratio;
  search.most_per_node = most_per_node(rules_);
  return search;
}

std::string BakeJudge::describe_detectable() const {
  const RateExposure exposure{upgraded_hours_, control_hours_, upgraded_nodes_};
  const double ratio = detectable_ratio(exposure, search());
  if (ratio <= largest_realistic) {
    return fmt::format(
        "Detects with {:.0f}% probability incidents that become at least {:.0f} times as frequent "
        "as one in {:.0f} GPU-hours ({} GPU-hours after the upgrade, {} without it).",
        100 * rules_.power, std::ceil(ratio), 1 / rules_.expected_per_gpu_hour,
        hours_text(upgraded_hours_), hours_text(control_hours_));
  }
  return fmt::format("Exposure so far is too small to detect a realistic regression ({}).",
                     describe_needed(exposure));
}

// How much more exposure of the same nodes would do.
std::string BakeJudge::describe_needed(const RateExposure& exposure) const {
  std::string so_far = hours_text(upgraded_hours_) + " GPU-hours";
  if (upgraded_hours_ <= 0) return so_far;
  if (control_hours_ <= 0) return so_far + ", and no busy node without the upgrade to compare with";
  auto is_enough = [&](double factor) {
    return detection_power({factor * exposure.upgraded_hours, factor * exposure.control_hours,
                            exposure.upgraded_nodes},
                           search(), usual_ratio) >= rules_.power;
  };
  constexpr double most = 1e8;
  // With this number of incidents without the upgrade, the bake needs more nodes, not more hours.
  constexpr double most_expected = 200;
  double high = 1;
  while (!is_enough(high)) {
    high *= 2;
    const double expected = high * control_hours_ * rules_.expected_per_gpu_hour;
    if (high > most || expected > most_expected) {
      return fmt::format("{} on {}, too few nodes for {:.0f}x", so_far, upgraded_nodes_text(),
                         usual_ratio);
    }
  }
  double low = high / 2;
  constexpr int halvings = 6;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (is_enough(middle) ? high : low) = middle;
  }
  return fmt::format("{}; {} needed for {:.0f}x", so_far, hours_text(high * upgraded_hours_),
                     usual_ratio);
}

std::string BakeJudge::upgraded_nodes_text() const {
  return upgrade::counted(static_cast<size_t>(upgraded_nodes_), "upgraded node");
}

void BakeJudge::decide_at_the_end(BakeVerdict& verdict) const {
  auto end = [&](BakeOutcome outcome, fleet::KnownReason reason, std::string text) {
    verdict.outcome = outcome;
    verdict.reason = reason;
    verdict.text = std::move(text);
  };
  const std::string so_far =
      fmt::format("{} of {} GPU-hours", hours_text(own_hours_), hours_text(rules_.min_gpu_hours));
  // No exposure is never a pass, whatever is asked for.
  const bool is_enough = own_hours_ > 0 && own_hours_ >= rules_.min_gpu_hours;
  const bool is_over = elapsed_ >= (is_enough ? rules_.duration : rules_.max_duration);
  if (!is_over || !upgraded_breaches_.empty()) {
    std::string text = fmt::format("{}, {}", bake_clock(elapsed_, rules_.duration), so_far);
    if (upgraded_incidents_.count() > 0) text += "; " + incidents_text();
    if (!upgraded_breaches_.empty()) {
      text += fmt::format("; {}, fails if it lasts for {}",
                          name_breach(upgraded_breaches_.front().breach),
                          format_duration(breach_confirmed_after));
    }
    return end(BakeOutcome::going_on, Reason::baking, std::move(text));
  }
  if (silent_nodes_ > 0) {
    return end(
        BakeOutcome::inconclusive, Reason::no_data,
        fmt::format("NoData: {} of {} report no GPU health", silent_nodes_, upgraded_nodes_text()));
  }
  const auto incidents = unexplained_incidents();
  if (!is_enough) {
    return end(BakeOutcome::inconclusive, Reason::too_little_exposure,
               fmt::format("{} after {}: the nodes were not busy enough{}", so_far,
                           whole_seconds(elapsed_), incidents ? "; " + *incidents : ""));
  }
  if (incidents) return end(BakeOutcome::inconclusive, Reason::incidents_unexplained, *incidents);
  end(BakeOutcome::passed, Reason::baked,
      fmt::format("{} and {} GPU-hours without a finding", whole_seconds(elapsed_),
                  hours_text(own_hours_)));
}

BakeVerdict BakeJudge::verdict() const {
  BakeVerdict verdict = decided_.value_or(BakeVerdict{});
  verdict.gpu_hours = own_hours_;
  verdict.control_gpu_hours = own_control_hours_;
  verdict.min_gpu_hours = rules_.min_gpu_hours;
  verdict.incidents = upgraded_incidents_.count();
  verdict.passed = elapsed_;
  verdict.evidence = evidence_of_all();
  verdict.limit = 1 / rules_.alpha;
  for (const auto& [name, kind] : kinds_) {
    verdict.kinds.push_back(
        {name, kind.upgraded_events, kind.control_events, kind.test.evidence()});
  }
  verdict.detectable = describe_detectable();
  if (!decided_) decide_at_the_end(verdict);
  return verdict;
}

}  // namespace lockstep::rollout
