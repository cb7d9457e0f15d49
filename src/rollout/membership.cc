#include "rollout/membership.h"

#include <algorithm>

#include "base/strings.h"

namespace lockstep::rollout {

namespace {

// What goes into a wave as a whole: a node, or a group of nodes.
struct Unit {
  std::vector<const Candidate*> nodes;
  std::set<Stratum> strata;
  size_t place = 0;  // of those that the wave is spread over

  int64_t eligible() const {
    return std::count_if(nodes.begin(), nodes.end(),
                         [](const Candidate* node) { return node->excluded.empty(); });
  }
  bool is_eligible() const { return eligible() == static_cast<int64_t>(nodes.size()); }
};

std::vector<Unit> make_units(const WaveSpec& wave, const std::string& group_by,
                             const std::vector<Candidate>& free) {
  std::vector<const Candidate*> ordered;
  for (const Candidate& node : free) ordered.push_back(&node);
  std::sort(ordered.begin(), ordered.end(),
            [](const Candidate* a, const Candidate* b) { return natural_less(a->name, b->name); });
  std::vector<Unit> units;
  std::map<std::string, size_t> by_group;
  std::map<std::string, size_t> places;
  for (const Candidate* node : ordered) {
    std::string group(group_by.empty() ? "" : node->labels.get(group_by));
    size_t index = units.size();
    if (!group.empty()) index = by_group.try_emplace(group, index).first->second;
    if (index == units.size()) {
      std::string place(node->labels.get(wave.spread_by));
      units.push_back({{}, {}, places.try_emplace(place, places.size()).first->second});
    }
    units[index].nodes.push_back(node);
    units[index].strata.insert(stratum_of(wave, node->labels));
  }
  return units;
}

// Takes units until there are enough nodes.
class Choice {
 public:
  Choice(std::vector<Unit> units, bool spreads)
      : units_(std::move(units)),
        spreads_(spreads),
        is_taken_(units_.size()),
        at_place_(units_.size()) {}

  size_t size() const { return names_.size(); }
  std::vector<std::string> names() && {
    std::sort(names_.begin(), names_.end(), natural_less);
    return std::move(names_);
  }
  void take_if(const auto& wanted) {
    for (size_t i = 0; i < units_.size(); ++i) {
      if (!is_taken_[i] && wanted(units_[i])) take(i);
    }
  }
  // At least one of every kind. Returns the kinds that no eligible unit has.
  std::vector<Stratum> cover(std::set<Stratum> missing) {
    std::vector<Stratum> uncovered;
    while (!missing.empty()) {
      const Stratum stratum = *missing.begin();
      size_t best = next(
          [&](const Unit& unit) { return unit.is_eligible() && unit.strata.contains(stratum); });
      if (best == units_.size()) {
        uncovered.push_back(stratum);
        missing.erase(stratum);
        continue;
      }
      take(best);
      for (const auto& covered : units_[best].strata) missing.erase(covered);
    }
    return uncovered;
  }
  void fill(size_t wanted) {
    while (names_.size() < wanted) {
      size_t best = next([](const Unit& unit) { return unit.is_eligible(); });
      if (best == units_.size()) return;
      take(best);
    }
  }
  int64_t eligible() const { return eligible_; }

 private:
  // The first in order; where the wave is spread, from the place that has the fewest so far.
  size_t next(const auto& wanted) const {
    size_t best = units_.size();
    for (size_t i = 0; i < units_.size(); ++i) {
      if (is_taken_[i] || !wanted(units_[i])) continue;
      if (best == units_.size()) {
        best = i;
        if (!spreads_) break;
      } else if (at_place_[units_[i].place] < at_place_[units_[best].place]) {
        best = i;
      }
    }
    return best;
  }
  void take(size_t index) {
    is_taken_[index] = true;
    eligible_ += units_[index].eligible();
    for (const Candidate* node : units_[index].nodes) names_.push_back(node->name);
    at_place_[units_[index].place] += units_[index].nodes.size();
  }

  std::vector<Unit> units_;
  bool spreads_;
  std::vector<bool> is_taken_;
  std::vector<size_t> at_place_;  // nodes chosen so far
  int64_t eligible_ = 0;          // of the nodes chosen so far
  std::vector<std::string> names_;
};

}  // namespace

Stratum stratum_of(const WaveSpec& wave, const StringMap& labels) {
  Stratum values;
  for (const std::string& label : wave.stratify) values.emplace_back(labels.get(label));
  return values;
}

WaveChoice choose_wave(const WaveSpec& wave, const std::string& group_by,
                       const std::vector<Candidate>& free, int64_t total) {
  using Kind = NodeSelection::Kind;
  // What a user leaves out needs no evidence: it is not upgraded by any wave.
  int64_t left = 0;
  std::set<Stratum> kinds;
  for (const Candidate& node : free) {
    if (node.skipped) continue;
    ++left;
    kinds.insert(stratum_of(wave, node.labels));
  }
  WaveChoice chosen;
  chosen.wanted = std::min<int64_t>(left, 1);
  Choice choice(make_units(wave, group_by, free), !wave.spread_by.empty());
  if (wave.nodes.kind == Kind::rest) {
    choice.take_if([](const Unit&) { return true; });
  } else if (wave.nodes.kind == Kind::labels) {
    // A group is taken whole if one of it is asked for.
    choice.take_if([&](const Unit& unit) {
      return std::any_of(unit.nodes.begin(), unit.nodes.end(), [&](const Candidate* node) {
        return wave.nodes.labels.matches(node->labels);
      });
    });
  } else if (left > 0) {
    bool is_percent = wave.nodes.kind == Kind::percent;
    // Earlier waves may have taken a part of the percentage already.
    chosen.wanted =
        is_percent ? std::min(left, (total * wave.nodes.number + 99) / 100) : wave.nodes.number;
    if (!wave.stratify.empty()) chosen.uncovered = choice.cover(std::move(kinds));
    choice.fill(static_cast<size_t>(chosen.wanted));
  }
  chosen.eligible = choice.eligible();
  chosen.nodes = std::move(choice).names();
  return chosen;
}

std::vector<std::vector<std::string>> choose_waves(const RolloutSpec& spec,
                                                   std::vector<Candidate> nodes) {
  std::vector<std::vector<std::string>> waves;
  auto total = static_cast<int64_t>(nodes.size());
  for (const WaveSpec& wave : spec.waves) {
    waves.push_back(choose_wave(wave, spec.group_by, nodes, total).nodes);
    std::set<std::string> taken(waves.back().begin(), waves.back().end());
    std::erase_if(nodes, [&](const Candidate& node) { return taken.contains(node.name); });
  }
  return waves;
}

}  // namespace lockstep::rollout
