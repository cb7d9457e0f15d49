#include "rollout/wave_evidence.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "fleet/node_view.h"
#include "rollout/decide_rollout.h"
#include "upgrade/pod_names.h"

namespace lockstep::rollout {

namespace {

// "gpu-1 (not Ready), gpu-4 (skipped by a user) and 3 more".
std::string name_excluded(const std::vector<Candidate>& nodes) {
  std::vector<std::string> names;
  for (const Candidate& node : nodes) {
    if (!node.excluded.empty()) names.push_back(fmt::format("{} ({})", node.name, node.excluded));
  }
  return upgrade_names(names);
}

std::string name_kind(const Stratum& kind) {
  std::vector<std::string> values;
  for (const std::string& value : kind) values.push_back(value.empty() ? "(no label)" : value);
  return join(values, ", ");
}

// Those that the wave could have chosen, had they not been excluded.
std::vector<Candidate> meant_by(const WaveSpec& wave, const std::vector<Candidate>& free) {
  std::vector<Candidate> meant;
  for (const Candidate& node : free) {
    bool by_label = wave.nodes.kind == NodeSelection::Kind::labels;
    if (!by_label || wave.nodes.labels.matches(node.labels)) meant.push_back(node);
  }
  return meant;
}

// A kind of node that the wave needs and that none of the nodes that count is of.
std::optional<Stratum> missing_kind(const RolloutView& view, size_t index, Time started,
                                    const auto& counts) {
  const WaveSpec& wave = view.spec.waves[index];
  bool is_chosen = wave.nodes.kind == NodeSelection::Kind::count ||
                   wave.nodes.kind == NodeSelection::Kind::percent;
  if (!is_chosen || wave.stratify.empty()) return std::nullopt;
  std::set<Stratum> shown;
  for (const RolloutNode& node : view.nodes) {
    if (counts(node)) shown.insert(stratum_of(wave, node.node->meta.labels));
  }
  for (const Candidate& node : free_nodes(view, index, started)) {
    Stratum kind = stratum_of(wave, node.labels);
    if (!node.skipped && !shown.contains(kind)) return kind;
  }
  return std::nullopt;
}

}  // namespace

bool is_short_of_nodes(const ReasonName& reason) {
  return reason == Reason::wave_empty || reason == Reason::wave_too_small;
}

std::string excluded_because(const Node& node, bool skipped, const fleet::Keys& keys,
                             const upgrade::Policy& policy) {
  if (skipped) return "skipped by a user";
  if (!node.ready()) return "not Ready";
  bool cordoned = node.unschedulable && fleet::was_cordoned_by_others(node, keys);
  if (cordoned && policy.cordoned_nodes != upgrade::CordonedNodes::upgrade) {
    return "cordoned by a user";
  }
  return {};
}

std::vector<Candidate> free_nodes(const RolloutView& view, size_t index, Time started) {
  std::set<std::string> taken;
  for (size_t i = 0; i < index && i < view.recorded.size(); ++i) {
    if (!view.recorded[i]) continue;
    taken.insert(view.recorded[i]->nodes.begin(), view.recorded[i]->nodes.end());
  }
  bool is_last = index + 1 >= view.spec.waves.size();
  std::vector<Candidate> free;
  std::vector<Candidate> late;
  for (const RolloutNode& node : view.nodes) {
    if (taken.contains(node.name())) continue;
    bool is_late = index > 0 && !is_last && node.node->meta.created > started;
    (is_late ? late : free)
        .push_back({node.name(), node.node->meta.labels, node.excluded, node.skipped});
  }
  // A clock that was set back makes every node a late one: a wave is left empty only when no node
  // is left for it.
  const bool is_any_left =
      std::any_of(free.begin(), free.end(), [](const Candidate& node) { return !node.skipped; });
  if (!is_any_left) free.insert(free.end(), late.begin(), late.end());
  return free;
}

std::optional<Reason> too_few_to_open(const RolloutView& view, size_t index,
                                      const WaveChoice& choice,
                                      const std::vector<Candidate>& free) {
  // The first wave shows something; a later one may find that the earlier ones have all the nodes.
  bool is_enough = choice.is_enough() && (index > 0 || choice.eligible > 0);
  if (is_enough) return std::nullopt;
  const WaveSpec& wave = view.spec.waves[index];
  const std::string excluded = name_excluded(meant_by(wave, free));
  const std::string because = excluded.empty() ? "" : "; excluded: " + excluded;
  const std::string remedy =
      "make the nodes available, or change the wave's nodes; the rollout then continues "
      "automatically";
  if (choice.eligible == 0) {
    if (wave.nodes.kind == NodeSelection::Kind::labels && choice.nodes.empty()) {
      return Reason{
          Reason::wave_empty,
          fmt::format("wave {} matches no node ({})", wave.name, wave.nodes.text()),
          "label the nodes, or correct spec.waves; the rollout then continues automatically"};
    }
    return Reason{Reason::wave_empty,
                  fmt::format("wave {} has no node that can be upgraded now{}", wave.name, because),
                  remedy};
  }
  if (choice.eligible < choice.wanted) {
    return Reason{Reason::wave_too_small,
                  fmt::format("wave {} asks for {}, and {} can be upgraded now{}", wave.name,
                              upgrade::counted(static_cast<size_t>(choice.wanted), "node"),
                              choice.eligible, because),
                  remedy};
  }
  return Reason{
      Reason::wave_too_small,
      fmt::format("wave {} asks for one node of each kind ({}), and no node of {} can be upgraded "
                  "now{}",
                  wave.name, join(wave.stratify, ", "), name_kind(choice.uncovered.front()),
                  because),
      remedy};
}

bool has_nodes_for(const RolloutView& view, size_t index, Time started) {
  const auto& record = view.recorded[index];
  if (!record) return false;
  if (record->nodes.empty()) return is_left_empty(view, index);
  const std::set<std::string> names(record->nodes.begin(), record->nodes.end());
  auto is_there = [&](const RolloutNode& node) {
    return !node.skipped && names.contains(node.name());
  };
  return std::any_of(view.nodes.begin(), view.nodes.end(), is_there)
             ? !missing_kind(view, index, started, is_there)
             : is_left_empty(view, index);
}

bool is_left_empty(const RolloutView& view, size_t index) {
  if (index == 0) return false;
  const std::vector<Candidate> free = free_nodes(view, index, view.status.started);
  return std::all_of(free.begin(), free.end(), [](const Candidate& node) { return node.skipped; });
}

std::optional<Reason> missing_evidence(const RolloutView& view, size_t index,
                                       const Progress& progress) {
  const WaveSpec& wave = view.spec.waves[index];
  const WaveProgress& counts = progress.waves[index];
  const std::string remedy =
      "lockstep rollout retry chooses the wave's nodes again; rollback restores the previous "
      "version";
  if (counts.done == 0) {
    if (is_left_empty(view, index)) return std::nullopt;
    return Reason{
        Reason::wave_empty,
        fmt::format("no node of wave {} runs {}: {} left, {} skipped by a user, {} failed",
                    wave.name, view.target.version, counts.nodes, counts.skipped, counts.failed),
        remedy};
  }
  const WaveIndex waves = waves_of(view);
  auto kind = missing_kind(view, index, view.status.started, [&](const RolloutNode& node) {
    auto at = waves.find(node.name());
    return node.state == fleet::State::done && node.in_sync && at != waves.end() &&
           at->second == index;
  });
  if (!kind) return std::nullopt;
  return Reason{Reason::wave_too_small,
                fmt::format("wave {} needs an upgraded node of each kind ({}), and has none of {}",
                            wave.name, join(wave.stratify, ", "), name_kind(*kind)),
                remedy};
}

}  // namespace lockstep::rollout
