#include "rollout/rollout_gate.h"

#include <algorithm>

#include <fmt/format.h>

#include "fleet/driver.h"

namespace lockstep::rollout {

namespace {

size_t wave_of(const RolloutGate& gate, const std::string& node) {
  auto at = gate.wave_of.find(node);
  return at == gate.wave_of.end() ? gate.wave_names.size() - 1 : at->second;
}

std::optional<Reason> held_by_wave(const RolloutGate& gate, const std::string& node,
                                   const NodeDriver& driver) {
  const RolloutStatus& status = gate.status;
  const std::string& set = driver.set;
  const std::string& newest = driver.newest;
  auto hold = [&](std::string text, std::string remedy = {}) {
    return Reason{Reason::wave_not_open, std::move(text), std::move(remedy)};
  };
  // It has the newest driver, and the user accepts that.
  bool is_accepted = gate.outside_wave == OutsideWave::accept && driver.revision == newest;
  if (is_accepted) return std::nullopt;
  if (status.phase == Phase::pending || is_over(status.phase)) {
    // The version that the fleet runs anyway may be restored at any time.
    if (status.stable.is_of(set, newest)) return std::nullopt;
    return hold(fmt::format("rollout {} has not started this version{}{}", gate.rollout,
                            status.message.empty() ? "" : ": ", status.message));
  }
  if (status.closed) {
    return hold(fmt::format("the waves of rollout {} are closed ({}): {}", gate.rollout,
                            to_string(status.phase), status.message),
                fmt::format("lockstep rollout status {}", gate.rollout));
  }
  if (!status.open_for.is_of(set, newest)) {
    return hold(fmt::format("no wave of rollout {} is open for this version yet", gate.rollout));
  }
  // A rollback takes what got the rejected version outside the waves with it.
  const bool goes_back = status.phase == Phase::rolling_back &&
                         runs_rejected(status, set, driver.revision, driver.image);
  if (goes_back && static_cast<int64_t>(wave_of(gate, node)) >= status.waves_to_return) {
    return std::nullopt;
  }
  auto at = gate.wave_of.find(node);
  size_t wave = wave_of(gate, node);
  if (static_cast<int64_t>(wave) < status.open_waves) return std::nullopt;
  auto current = static_cast<size_t>(std::max<int64_t>(status.open_waves, 1) - 1);
  return hold(fmt::format(
      "{} of rollout {} is not open; {} is {}",
      at == gate.wave_of.end() ? "the node's wave" : fmt::format("wave {}", gate.wave_names[wave]),
      gate.rollout, current < gate.wave_names.size() ? gate.wave_names[current] : "none",
      to_string(status.phase)));
}

}  // namespace

std::vector<std::string> waves_in_force(const RolloutSpec& spec, const RolloutStatus& status) {
  std::vector<std::string> names;
  const bool is_active = status.phase != Phase::pending && !is_over(status.phase);
  const bool rolls_back = status.phase == Phase::rolling_back;
  if (is_active && !rolls_back && !status.waves.empty() && !has_opened_waves(spec, status)) {
    for (const WaveStatus& wave : status.waves) names.push_back(wave.name);
  } else {
    for (const WaveSpec& wave : spec.waves) names.push_back(wave.name);
  }
  return names;
}

std::optional<Reason> containment_of(const RolloutGate& gate, const std::string& node,
                                     const NodeDriver& driver) {
  const RolloutStatus& status = gate.status;
  if (gate.outside_wave == OutsideWave::accept || !status.stable.is_set()) return std::nullopt;
  if (driver.revision.empty() || driver.revision != driver.newest) return std::nullopt;
  // What ran before there was a rollout is not its business.
  if (driver.pod_created < gate.created) return std::nullopt;
  if (status.stable.is_of(driver.set, driver.revision)) return std::nullopt;
  // A DaemonSet that has only just come, such as one for another kernel, brings nothing new by it.
  bool is_new_set = !status.stable.revisions.contains(driver.set);
  if (is_new_set && is_image_of(status.stable, driver.image).value_or(false)) return std::nullopt;
  bool is_idle = status.phase == Phase::pending || is_over(status.phase);
  if (!is_idle && status.open_for.is_of(driver.set, driver.revision)) {
    // Closed waves stay open to what was upgraded in them.
    bool was_open = static_cast<int64_t>(wave_of(gate, node)) < status.open_waves;
    bool is_restored = !status.to.is_of(driver.set, driver.revision);
    if (was_open || is_restored) return std::nullopt;
  }
  const std::string version = fleet::version_of_image(driver.image);
  return Reason{
      Reason::upgraded_outside_wave,
      fmt::format("the driver pod started with {}, which no open wave of rollout {} allows on this "
                  "node; the node stays cordoned until its wave opens",
                  version.empty() ? "revision " + driver.revision : version, gate.rollout),
      fmt::format("see lockstep rollout status {}; to allow it: spec.outsideWave: accept",
                  gate.rollout)};
}

std::optional<Reason> hold_of(const RolloutGate& gate, const std::string& node,
                              const NodeDriver& driver) {
  // Two watches that do not agree for a moment: whether the wave is open for what comes is not
  // known either.
  if (driver.newest.empty()) {
    return Reason{Reason::revision_unknown, "the driver's newest revision is not known now", ""};
  }
  if (auto hold = held_by_wave(gate, node, driver)) return hold;
  if (gate.paused) {
    return Reason{Reason::rollout_paused,
                  fmt::format("rollout {} is paused; nodes in flight finish", gate.rollout),
                  fmt::format("lockstep rollout resume {}", gate.rollout)};
  }
  // Windows do not hold a rollback: nodes may run a version that has failed.
  if (gate.window.open || gate.status.phase == Phase::rolling_back) return std::nullopt;
  if (gate.window.error) {
    return Reason{Reason::outside_window, gate.window.error->text(),
                  "correct the time zone of the rollout's windows"};
  }
  return Reason{Reason::outside_window,
                fmt::format("no maintenance window of rollout {} is open{}", gate.rollout,
                            gate.window.until.is_set()
                                ? "; the next opens at " + format_rfc3339(gate.window.until)
                                : ""),
                ""};
}

void apply_gate(const RolloutGate& gate, fleet::NodeView& view) {
  const std::string node = view.node->meta.name.str();
  const std::optional<ObjectKey> asked = view.driver.set_to_ask();
  NodeDriver driver{asked ? asked->text() : "", view.driver.newest_revision.str(), "", "", {}};
  if (const auto& pod = view.driver.pod) {
    driver.revision = std::string(pod->meta.labels.get(fleet::revision_label));
    driver.image = fleet::driver_image_of(pod->spec);
    driver.pod_created = pod->meta.created;
  }
  view.rollout = driver.newest.empty() ? std::string() : gate.rollout;
  view.held_by_rollout = hold_of(gate, node, driver);
  view.outside_wave.reset();
  if (view.driver.is_in_sync()) view.outside_wave = containment_of(gate, node, driver);
  if (!gate.group_by.empty()) {
    view.group = std::string(view.node->meta.labels.get(gate.group_by));
  }
}

void limit_to_wave(const RolloutSpec& spec, const RolloutStatus& status, upgrade::Policy& policy) {
  if (status.phase == Phase::pending || is_over(status.phase)) return;
  auto current = static_cast<size_t>(std::max<int64_t>(status.open_waves, 1) - 1);
  if (current >= spec.waves.size()) return;
  if (auto parallel = spec.waves[current].max_parallel) policy.max_parallel = *parallel;
  // The canary tolerates no failed node.
  bool is_canary = current == 0 && status.phase == Phase::upgrading;
  if (is_canary) policy.max_failures = IntOrPercent::count(1);
}

}  // namespace lockstep::rollout
