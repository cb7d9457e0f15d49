#include "rollout/pace.h"

#include <algorithm>
#include <utility>

namespace lockstep::rollout {

namespace {

// Nodes come to their end in turns, several at once.
constexpr Duration shortest_patience = seconds(10);

std::optional<Duration> median_of(std::vector<Duration> times) {
  if (times.empty()) return std::nullopt;
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

std::optional<Duration> time_by_pace(std::vector<Duration> ages, int64_t left) {
  constexpr size_t fewest = 3;
  constexpr size_t most = 50;
  if (left <= 0 || ages.size() < fewest) return std::nullopt;
  std::sort(ages.begin(), ages.end());
  const size_t used = std::min(ages.size(), most);
  const Duration span = ages[used - 1] - ages[0];
  if (span <= Duration::zero()) return std::nullopt;
  Duration longest_gap = shortest_patience;
  for (size_t i = 1; i < used; ++i) longest_gap = std::max(longest_gap, ages[i] - ages[i - 1]);
  if (ages[0] > 3 * longest_gap) return std::nullopt;
  return span / static_cast<int64_t>(used - 1) * left;
}

std::optional<Duration> pool_time_left(std::vector<Duration> ages, const fleet::PoolCounts& counts,
                                       const std::optional<Reason>& held, bool in_waves) {
  // These are over when a node is done.
  const bool in_turn = counts.waiting == 0 || !held || held->name == Reason::parallel_limit ||
                       held->name == Reason::unavailable_limit;
  if (in_waves || !in_turn || counts.active == 0) return std::nullopt;
  return time_by_pace(std::move(ages), counts.waiting + counts.active);
}

std::optional<Duration> node_time_by_history(
    const std::vector<HistoryEntry>& history,
    const std::function<int64_t(const std::string& wave)>& turns_of) {
  std::vector<Duration> times;
  const HistoryEntry* opened = nullptr;
  for (const HistoryEntry& entry : history) {
    bool is_through = entry.phase == Phase::gating || entry.phase == Phase::baking ||
                      entry.phase == Phase::awaiting_approval || entry.phase == Phase::promoting;
    if (opened != nullptr && is_through && entry.wave == opened->wave) {
      const int64_t turns = turns_of(entry.wave);
      if (turns > 0 && entry.at > opened->at) times.push_back((entry.at - opened->at) / turns);
    }
    const bool opens = entry.phase == Phase::upgrading && entry.reason == Reason::wave_open;
    opened = opens ? &entry : nullptr;
  }
  return median_of(std::move(times));
}

std::optional<Duration> gates_time_by_history(const std::vector<HistoryEntry>& history) {
  std::vector<Duration> times;
  for (size_t i = 1; i < history.size(); ++i) {
    const HistoryEntry& began = history[i - 1];
    const bool has_passed = history[i].phase == Phase::baking ||
                            history[i].phase == Phase::awaiting_approval ||
                            history[i].phase == Phase::promoting;
    if (began.phase != Phase::gating || !has_passed || history[i].at < began.at) continue;
    times.push_back(history[i].at - began.at);
  }
  return median_of(std::move(times));
}

std::optional<Duration> bake_left(const BakeSpec& spec, const BakeVerdict& seen) {
  if (seen.outcome != BakeOutcome::going_on) return std::nullopt;
  Duration left = std::max(spec.duration - seen.passed, Duration::zero());
  const double missing = seen.min_gpu_hours - seen.gpu_hours;
  if (missing > 0) {
    if (seen.gpu_hours <= 0 || seen.passed <= Duration::zero()) return std::nullopt;
    // As seconds: a rate near nothing gives a time that no Duration holds.
    const double needed = missing / seen.gpu_hours * in_seconds(seen.passed);
    const double longest = in_seconds(std::max(spec.max_duration - seen.passed, left));
    left = std::max(left, Duration(seconds(static_cast<int64_t>(std::min(needed, longest)))));
  }
  return left;
}

}  // namespace lockstep::rollout
