#include "operate/rollout_report.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "rollout/pace.h"
#include "view/kept_bake.h"
#include "view/live_status.h"

namespace lockstep::operate {

namespace {

using rollout::Phase;

bool is_current(const rollout::RolloutStatus& status, size_t wave) {
  return static_cast<int64_t>(wave) + 1 == status.open_waves && !rollout::is_over(status.phase);
}

// How long ago the wave's nodes came to their end, since it opened.
std::vector<Duration> ages_of(const view::KnownRollout& rollout, size_t index, Time opened,
                              const FleetStatus& fleet) {
  std::vector<Duration> ages;
  for (const PoolStatus& pool : fleet.pools) {
    for (const NodeStatus& node : pool.nodes) {
      const auto at = rollout.gate.wave_of.find(node.name);
      const bool is_ours = at != rollout.gate.wave_of.end() && at->second == index;
      if (!is_ours || node.state != fleet::State::done || !node.in_sync) continue;
      if (fleet.at - node.in_state >= opened) ages.push_back(node.in_state);
    }
  }
  return ages;
}

}  // namespace

WaveBakes bakes_of(const view::RolloutWatch& watch, const view::KnownRollout& rollout) {
  WaveBakes bakes(rollout.status.waves.size());
  for (size_t i = 0; i < bakes.size(); ++i) bakes[i] = view::bake_so_far(watch, rollout, i);
  return bakes;
}

const WaveReport* RolloutReport::current() const {
  const int64_t current = status.current_wave();
  if (current < 0 || current >= static_cast<int64_t>(status.waves.size())) return nullptr;
  return &waves[static_cast<size_t>(current)];
}

RolloutReport report_rollout(std::string name, const rollout::RolloutSpec& spec,
                             const rollout::RolloutStatus& status, WaveBakes bakes) {
  RolloutReport report{std::move(name), spec, status, rollout::direction_of(status), {}};
  bakes.resize(std::max(bakes.size(), status.waves.size()));
  for (size_t i = 0; i < std::max(status.waves.size(), spec.waves.size()); ++i) {
    WaveReport wave;
    if (i < status.waves.size()) {
      wave.status = status.waves[i];
      wave.bake = std::move(bakes[i]);
    }
    if (i < spec.waves.size()) wave.asked = spec.waves[i];
    if (wave.status.name.empty() && wave.asked) wave.status.name = wave.asked->name;
    wave.state = rollout::wave_state(status, i);
    wave.is_baking = rollout::is_baking(status, i);
    wave.needs_approval = rollout::needs_approval(spec, status, i);
    const bool is_timed = wave.is_baking && wave.bake && wave.asked && wave.asked->bake;
    if (is_timed) wave.left = rollout::bake_left(*wave.asked->bake, *wave.bake);
    report.waves.push_back(std::move(wave));
  }
  return report;
}

RolloutReport report_rollout(const view::FleetWatch& watch, const view::KnownRollout& rollout,
                             const FleetStatus& fleet) {
  RolloutReport report =
      report_rollout(rollout.name(), rollout.spec, view::live_status(watch, rollout),
                     bakes_of(watch.rollouts(), rollout));
  for (size_t i = 0; i < report.waves.size(); ++i) {
    WaveReport& wave = report.waves[i];
    // It waits for a user.
    if (report.spec.paused) wave.left.reset();
    if (!is_current(report.status, i) || report.spec.paused) continue;
    if (report.status.phase != Phase::upgrading) continue;
    const rollout::WaveStatus& status = wave.status;
    wave.left = rollout::time_by_pace(ages_of(rollout, i, status.opened, fleet),
                                      status.nodes - status.done - status.failed);
  }
  return report;
}

std::string progress_line(const RolloutReport& report) {
  const WaveReport* wave = report.current();
  const std::string_view phase = to_string(report.status.phase);
  if (wave == nullptr) return fmt::format("{}: {}", phase, report.status.message);
  // What the status says of them is up to ten seconds old.
  const std::string text =
      report.status.phase == Phase::upgrading
          ? fmt::format("{} of {} nodes done", wave->status.done, wave->status.nodes)
          : report.status.message;
  return fmt::format("{} {}: {}", phase, wave->status.name, text);
}

}  // namespace lockstep::operate
