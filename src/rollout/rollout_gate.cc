#include "rollout/rollout_gate.h"

#include <fmt/format.h>

namespace lockstep::rollout {

namespace {

bool is_of(const DriverRevision& revision, const std::string& set, const std::string& newest) {
  auto at = revision.revisions.find(set);
  return at != revision.revisions.end() && at->second == newest;
}

std::optional<fleet::RolloutHold> held_by_wave(const RolloutGate& gate, const std::string& node,
                                               const std::string& set, const std::string& newest) {
  const RolloutStatus& status = gate.status;
  auto hold = [&](std::string text, std::string remedy = {}) {
    return fleet::RolloutHold{"WaveNotOpen", std::move(text), std::move(remedy)};
  };
  if (status.phase == Phase::pending || is_over(status.phase)) {
    // What the fleet runs anyway may be put right at any time.
    if (is_of(status.stable, set, newest)) return std::nullopt;
    return hold(fmt::format("rollout {} has not begun with this version{}{}", gate.rollout,
                            status.message.empty() ? "" : ": ", status.message));
  }
  if (status.closed) {
    return hold(fmt::format("the waves of rollout {} are closed ({}): {}", gate.rollout,
                            to_string(status.phase), status.message),
                fmt::format("lockstep rollout status {}", gate.rollout));
  }
  if (!is_of(status.open_for, set, newest)) {
    return hold(fmt::format("no wave of rollout {} is open for this version yet", gate.rollout));
  }
  auto at = gate.wave_of.find(node);
  size_t wave = at == gate.wave_of.end() ? gate.wave_names.size() - 1 : at->second;
  if (static_cast<int64_t>(wave) < status.open_waves) return std::nullopt;
  auto current = static_cast<size_t>(std::max<int64_t>(status.open_waves, 1) - 1);
  return hold(fmt::format(
      "{} of rollout {} is not open; {} is {}",
      at == gate.wave_of.end() ? "the node's wave" : fmt::format("wave {}", gate.wave_names[wave]),
      gate.rollout, current < gate.wave_names.size() ? gate.wave_names[current] : "none",
      to_string(status.phase)));
}

}  // namespace

std::optional<fleet::RolloutHold> hold_of(const RolloutGate& gate, const std::string& node,
                                          const std::string& set, const std::string& newest) {
  // Two watches that do not agree for a moment: whether the wave is open for what comes is not
  // known either.
  if (newest.empty()) {
    return fleet::RolloutHold{"RevisionUnknown",
                              "the driver's newest revision is not known at this moment", ""};
  }
  if (auto hold = held_by_wave(gate, node, set, newest)) return hold;
  if (gate.paused) {
    return fleet::RolloutHold{
        "RolloutPaused", fmt::format("rollout {} is paused; nodes in flight finish", gate.rollout),
        fmt::format("lockstep rollout resume {}", gate.rollout)};
  }
  // Windows do not hold a rollback: nodes may run a version that has failed.
  if (gate.window.open || gate.status.phase == Phase::rolling_back) return std::nullopt;
  if (gate.window.error) {
    return fleet::RolloutHold{"OutsideWindow", gate.window.error->text(),
                              "correct the time zone of the rollout's windows"};
  }
  return fleet::RolloutHold{
      "OutsideWindow",
      fmt::format("no maintenance window of rollout {} is open{}", gate.rollout,
                  gate.window.until.is_set()
                      ? "; the next opens at " + format_rfc3339(gate.window.until)
                      : ""),
      ""};
}

}  // namespace lockstep::rollout
